"""Each layout of a small CLEVR, and copies of it to be cached and damaged."""

import shutil

import pytest

from support.small_clevr import LAYOUTS, make_clevr


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """Each layout once; only to be copied."""
    base = tmp_path_factory.mktemp("clevr")
    return {layout: (base / layout, *make_clevr(base / layout, layout)) for layout in LAYOUTS}


@pytest.fixture
def copied(originals, tmp_path):
    """A layout of one's own, to be cached and damaged: the folder, its JSON, its images."""

    def copy(layout="official"):
        folder, path, pictures = originals[layout]
        mine = shutil.copytree(folder, tmp_path / layout)
        return mine, mine / path.relative_to(folder), mine / pictures.relative_to(folder)

    return copy

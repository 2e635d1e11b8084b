"""`recombine run concept-graphs/faces` on a small made-up CelebA, whole, absent and damaged in every way."""

import hashlib
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from recombine.instruments.shapes import evaluation
from recombine.lab.store import RunFolder, Store
from recombine.training.replica import Replica
from recombine.training.state import load_tensors
from support.small_celeba import make_celeba
from support.tables import short

Call = Callable[..., Any]

NAME = "concept-graphs/faces"
RUN = ("run", NAME, "--budget", "smoke")
# What makes the smoke run as short as it can be.
QUICK = ("training.images=64", "training.batch=16", "network.channels=4", "network.multipliers=[1]",
         "evaluation.first=32", "evaluation.points=2", "evaluation.images_per_node=2", "evaluation.sampler.steps=2",
         "evaluation.classifier.steps=1", "evaluation.sheet_points=1")  # fmt: skip
SETS = tuple(word for text in QUICK for word in ("--set", text))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder and the zip; only to be copied."""
    base = tmp_path_factory.mktemp("celeba")
    return {layout: make_celeba(base / layout, layout) for layout in ("folder", "zip")}


@pytest.fixture
def celeba(original: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A CelebA of one's own, which the environment names."""

    def copy(layout: str = "folder") -> Path:
        folder = Path(shutil.copytree(original[layout], tmp_path / layout))
        monkeypatch.setenv("RECOMBINE_CELEBA", str(folder))
        evaluation._tools.cache_clear()  # a process keeps what it made from one CelebA; these tests have several
        return folder

    return copy


def only_run(root: Path) -> RunFolder:
    [run] = Store(root).runs()
    return run


def test_from_faces_to_a_report(
    call: Call, celeba: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, root = celeba(), tmp_path / "store"
    answer = call(*RUN, "--store", root)
    assert answer.status == 0, answer.err
    assert answer.complaints == []
    made = root / "experiments" / NAME / "smoke"
    assert f"report: {(made / 'report.html').resolve()}" in answer.out
    assert {"figure.png", "samples-continuous.png", "table.parquet"} <= {path.name for path in made.iterdir()}
    claims = json.loads((made / "claims.json").read_text())
    assert [(claim["claim"], claim["verdict"]) for claim in claims] == [("O12", "undecided"), ("O12b", "undecided")]

    run = only_run(root)
    digest = hashlib.sha256((folder / "list_attr_celeba.txt").read_bytes()).hexdigest()
    assert run.provenance()["celeba_attributes_sha256"] == digest
    provenance = json.loads((made / "provenance.json").read_text())
    assert [machine["celeba_attributes_sha256"] for machine in provenance["machines"]] == [digest]
    assert digest in (made / "report.html").read_text()
    assert str(folder) not in run.config_path.read_text()  # where the faces are is no part of what was run

    rows = run.rows()
    calibration = {(row["node"], short(row)) for row in rows if row["images_seen"] == 0}
    nodes = [f"{gender}{serious}{blond}" for gender in "01" for serious in "01" for blond in "01"]
    concepts = ("gender", "smiling", "hair")
    assert calibration == {(node, f"calibration.classifier.{concept}") for node in nodes for concept in concepts}
    assert {row["instrument"].partition(".")[0] for row in rows if row["images_seen"]} == {"classifier"}
    product = [row for row in rows if row["instrument"] == "classifier.product"]
    assert max(row["images_seen"] for row in product) == 1024
    assert {row["node"]: row["distance"] for row in product} == {n: max(0, n.count("1") - 1) for n in nodes}
    assert load_tensors(run.samples_path(1024), run.address)["images"].shape[0] == 8

    # What is made from runs needs neither training nor faces.
    monkeypatch.setenv("RECOMBINE_CELEBA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(Replica, "step", lambda self: pytest.fail("trained again"))
    assert call("figure", NAME, "--budget", "smoke", "--store", root).status == 0
    drawn = ("--condition", "gender=male,smiling=smiling,hair=blond", "--count", 2, "--out", tmp_path / "a.png")
    answer = call("sample", run.address, *drawn, "--store", root)
    assert answer.status == 0, answer.err
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_zip_gives_the_same_run_as_the_folder(call: Call, celeba: Callable[..., Path], tmp_path: Path) -> None:
    runs = []
    for layout in ("folder", "zip"):
        celeba(layout)
        assert call(*RUN, *SETS, "--no-report", "--store", tmp_path / f"store-{layout}").status == 0
        runs.append(only_run(tmp_path / f"store-{layout}"))
    one, other = runs
    assert one.address == other.address
    assert one.measurements_path.read_bytes() == other.measurements_path.read_bytes()
    assert one.weights_path.read_bytes() == other.weights_path.read_bytes()


def add_outside(folder: Path) -> None:
    with ZipFile(folder / "img_align_celeba.zip", "a") as archive:
        archive.writestr("../outside.jpg", b"x")


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE: dict[str, tuple[str, Callable[[Path], object], tuple[str, ...]]] = {
    "no folder": ("folder", shutil.rmtree, ("CelebA is not complete in", "img_align_celeba.zip", "RECOMBINE_CELEBA")),
    "no images": (
        "zip",
        lambda folder: (folder / "img_align_celeba.zip").unlink(),
        ("put img_align_celeba.zip", "CelebA page"),
    ),
    "no attributes": (
        "folder",
        lambda folder: (folder / "list_attr_celeba.txt").unlink(),
        ("put list_attr_celeba.txt there",),
    ),
    "no partitions": (
        "folder",
        lambda folder: (folder / "list_eval_partition.txt").unlink(),
        ("put list_eval_partition.txt there",),
    ),
    "damaged image": (
        "folder",
        lambda folder: shorten(folder / "img_align_celeba" / "000005.jpg"),
        ("000005.jpg in", "is damaged", "get img_align_celeba.zip again"),
    ),
    "partial folder": (
        "folder",
        lambda folder: [(folder / "img_align_celeba" / f"{n:06d}.jpg").unlink() for n in (2, 4, 9)],
        ("lacks 2 of the 40 images that are needed, first 000002.jpg",),  # 9 has no class
    ),
    "damaged zip": ("zip", lambda folder: shorten(folder / "img_align_celeba.zip"), ("is damaged or cut short",)),
    "zip with a path outside its root": ("zip", add_outside, ("outside its root", "'../outside.jpg'")),
    "damaged attributes": (
        "folder",
        lambda folder: shorten(folder / "list_attr_celeba.txt"),
        ("list_attr_celeba.txt is not as CelebA distributes it",),
    ),
    "damaged partitions": (
        "folder",
        lambda folder: (folder / "list_eval_partition.txt").write_text("000001.jpg 0\n"),
        ("it lacks 000002.jpg",),
    ),
    "no cache": (
        "folder",
        lambda folder: (folder / "recombine-cache").write_text("a file where the folder should be"),
        ("cannot write", "recombine-cache"),
    ),
}


def assert_one_line(answer: Any, *says: str) -> None:
    """A run that could not begin: one line that says what to do, no page of Python."""
    assert answer.status in (1, 2), answer
    assert "Traceback" not in answer.err
    [line] = answer.complaints
    assert answer.err.splitlines()[-1] == line  # and nothing after it
    for part in says:
        assert part in line


@pytest.mark.parametrize("case", DAMAGE)
def test_a_celeba_that_cannot_be_used_is_one_line(
    call: Call, celeba: Callable[..., Path], tmp_path: Path, case: str
) -> None:
    layout, damage, says = DAMAGE[case]
    folder, root = celeba(layout), tmp_path / "store"
    damage(folder)
    answer = call(*RUN, *SETS, "--store", root)
    assert_one_line(answer, *says)
    assert str(folder) in answer.complaints[0]
    assert not any(run.done or run.checkpoint_path.exists() for run in Store(root).runs())
    assert not (root / "experiments").exists()
    assert not list(tmp_path.rglob("outside.jpg"))


def test_once_the_faces_are_there_the_same_command_goes_on(
    call: Call, original: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word in the environment they are looked for under the folder where the command is given."""
    monkeypatch.delenv("RECOMBINE_CELEBA", raising=False)
    monkeypatch.chdir(tmp_path)
    words = (*RUN, *SETS, "--no-report", "--store", "store")
    assert_one_line(call(*words), f"CelebA is not complete in {tmp_path / 'data' / 'celeba'}")
    shutil.copytree(original["zip"], tmp_path / "data" / "celeba")
    assert call(*words).status == 0
    assert only_run(Path("store")).done


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("split.count=50", ("has 3 images in CelebA's train partition, not 50", "lower split.count")),
        ("evaluation.classifier=null", ("evaluation.classifier",)),
        ("world.pixels=300", ("'world.pixels' = 300",)),
        ("world.partition=tests", ("'world.partition' = 'tests'",)),
        ("split.train=[\"000\", \"002\"]", ("no node '002'", "female/male")),
    ],
)  # fmt: skip
def test_settings_that_faces_do_not_allow_are_one_line(
    call: Call, celeba: Callable[..., Path], tmp_path: Path, setting: str, says: tuple[str, ...]
) -> None:
    celeba()
    assert_one_line(call(*RUN, *SETS, "--set", setting, "--store", tmp_path / "store"), *says)
    assert not any(run.done for run in Store(tmp_path / "store").runs())


def test_a_class_that_nobody_can_be_checked_on_is_one_line_or_no_number(
    call: Call, celeba: Callable[..., Path], tmp_path: Path
) -> None:
    """A partition file without a test image: never a number that is none."""
    folder = celeba()
    path = folder / "list_eval_partition.txt"
    path.write_text(path.read_text().replace(".jpg 2", ".jpg 1"))
    answer = call(*RUN, *SETS, "--no-report", "--store", tmp_path / "store")
    if answer.status:
        assert_one_line(answer, "test")
    else:
        assert all(math.isfinite(row["value"]) for row in only_run(tmp_path / "store").rows())

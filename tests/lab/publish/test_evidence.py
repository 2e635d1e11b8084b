"""Evidence: what is kept of an experiment, and that it is judged and drawn again from that alone."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recombine.errors import RunFailed, UserError
from recombine.lab.claims import read_claims, read_results
from recombine.lab.experiment import Plan, make_plan
from recombine.lab.publish import evidence
from recombine.lab.publish.evidence import keep_picture, packed, publish, renew
from recombine.lab.publish.pages import experiment_page
from recombine.lab.store import Store
from recombine.studies import EXPERIMENTS

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, format="PNG", compress_level=0)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
@pytest.mark.parametrize("colours", [3, 256, 4000])
def test_pictures_keep_every_colour_in_fewer_bytes(colours: int, kind: str) -> None:
    rng = np.random.default_rng(0)
    shades = rng.integers(0, 256, (colours, 3))
    whole = png(np.tile(shades[rng.permutation(64 * 128) % colours], 1).reshape(64, 128, 3))
    small = packed(whole, kind)
    assert len(small) <= len(whole)
    with Image.open(io.BytesIO(small)) as kept, Image.open(io.BytesIO(whole)) as before:
        assert (np.asarray(kept.convert("RGB")) == np.asarray(before)).all()
        assert (kept.mode == "P") == (kind == "PNG" and colours <= 256)


def test_a_drawing_too_large_to_clone_is_kept_as_png_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "LARGEST_SVG", 100)
    keep_picture(tmp_path / "a.svg", b"<svg/>")
    assert (tmp_path / "a.svg").read_bytes() == b"<svg/>"
    keep_picture(tmp_path / "a.svg", b"x" * 101)
    assert not (tmp_path / "a.svg").exists()


@pytest.fixture
def plan() -> Plan:
    return make_plan(EXPERIMENT, "smoke")


def test_evidence_is_published_with_a_page(plan: Plan, smoke_store: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    target = publish(plan, Store(smoke_store), results)
    assert target == results / "concept-graphs" / "emergence"
    names = {path.name for path in target.iterdir()}
    assert {"claims.json", "table.parquet", "provenance.json", "README.md", "figure.png"} <= names
    source = Store(smoke_store).experiment("concept-graphs", "emergence", "smoke")
    for name in ("claims.json", "table.parquet"):
        assert (target / name).read_bytes() == (source / name).read_bytes()
    facts = [json.loads((folder / "provenance.json").read_text()) for folder in (target, source)]
    assert facts[0] == facts[1]
    pictures = [path for path in target.iterdir() if path.suffix in (".png", ".webp")]
    assert {path.stem for path in pictures} == {path.stem for path in source.glob("*.png")}
    for path in (path for path in pictures if path.stem.startswith("samples")):
        with Image.open(path) as kept, Image.open((source / path.name).with_suffix(".png")) as before:
            assert (np.asarray(kept.convert("RGB")) == np.asarray(before.convert("RGB"))).all()
    claims = read_results(results)
    assert claims == json.loads((source / "claims.json").read_text())


def test_evidence_is_judged_and_drawn_again_from_its_own_table(plan: Plan, smoke_store: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    target = publish(plan, Store(smoke_store), results)
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    (target / "claims.json").write_text("[]")
    (target / "figure.png").unlink()
    assert renew(EXPERIMENT, results) == json.loads(before["claims.json"])
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_what_is_not_published_cannot_be_renewed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing of concept-graphs/emergence is published"):
        renew(EXPERIMENT, tmp_path)


def test_damaged_claims_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    for text in ("{}", "no json"):
        path.write_text(text)
        with pytest.raises(RunFailed, match="not readable as JSON"):
            read_claims(path)


PUBLISHED = sorted((Path(__file__).parents[3] / "results").glob("*/*/provenance.json"))


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}")
def test_published_runs_have_the_settings_that_the_experiment_has_now(path: Path) -> None:
    source = json.loads(path.read_text())
    address = f"{path.parent.parent.name}/{path.parent.name}"
    planned = {run.address for run in make_plan(EXPERIMENTS[address], source["budget"]).runs}
    assert {member["address"] for member in source["members"]} <= planned


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}")
def test_every_committed_page_is_the_one_that_its_evidence_gives(path: Path) -> None:
    experiment = EXPERIMENTS[f"{path.parent.parent.name}/{path.parent.name}"]
    assert (path.parent / "README.md").read_text(encoding="utf-8") == experiment_page(experiment, path.parent)

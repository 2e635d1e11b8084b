import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recombine.errors import RunFailed
from recombine.lab.claims import read_claims, read_results
from recombine.lab.experiment import Plan, make_plan
from recombine.lab.publish.evidence import _lean, publish, renew, results_page
from recombine.lab.store import Store
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.emergence.experiment import EXPERIMENT


def test_small_objects_keep_their_colours() -> None:
    """Hundreds of greys and a few coloured pixels: 256 colours would be greys."""
    rng = np.random.default_rng(0)
    ground = np.tile(np.linspace(60, 200, 256)[None, :, None], (64, 1, 3)) + rng.normal(0, 6, (64, 256, 3))
    picture = ground.clip(0, 255).astype(np.uint8)
    for place in range(32):  # small objects of many colours
        picture[4:8, 8 * place : 8 * place + 4] = rng.integers(0, 255, 3)
    whole = io.BytesIO()
    Image.fromarray(picture).save(whole, format="PNG")
    with Image.open(io.BytesIO(_lean(whole.getvalue()))) as kept:
        assert (np.asarray(kept.convert("RGB")) == picture).all()
    flat = io.BytesIO()
    Image.fromarray(np.full((64, 256, 3), 90, dtype=np.uint8)).save(flat, format="PNG")
    with Image.open(io.BytesIO(_lean(flat.getvalue()))) as kept:
        assert kept.mode == "P"


@pytest.fixture
def plan() -> Plan:
    return make_plan(EXPERIMENT, "smoke")


def test_evidence_is_published_read_and_put_on_one_page(plan: Plan, smoke_store: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    target = publish(plan, Store(smoke_store), results)
    assert target == results / "concept-graphs" / "emergence"
    names = {p.name for p in target.iterdir()}
    pictures = {"figure.png", "cube.png", "judges.png", "samples-continuous.png"}
    assert names == {"claims.json", "table.parquet", "provenance.json"} | pictures
    source = Store(smoke_store).experiment("concept-graphs", "emergence", "smoke")
    assert all((target / name).read_bytes() == (source / name).read_bytes() for name in names - pictures)
    for name in pictures:  # in fewer colours: less to keep, the same to the eye
        with Image.open(target / name) as lean, Image.open(source / name) as full:
            pairs = [np.asarray(image.convert("RGB"), dtype=float) for image in (lean, full)]
        assert np.abs(pairs[0] - pairs[1]).mean() < 4
        assert (target / name).stat().st_size < (source / name).stat().st_size
    claims = read_results(results)
    assert claims == json.loads((source / "claims.json").read_text())
    page = (tmp_path / "RESULTS.md").read_text()
    assert page == results_page(results)
    assert all(paragraph in page for paragraph in EXPERIMENT.seen)
    assert "## concept-graphs/emergence" in page
    for claim in claims:
        assert f"| {claim['claim']} | {claim['says']} | {claim['paper']} |" in page
    assert page.count("**undecided**") == len(claims)
    assert all(f"](results/concept-graphs/emergence/{name})" in page for name in pictures)
    assert "recombine run concept-graphs/emergence --budget smoke --seeds 1" in page


def test_nothing_published_is_an_empty_page(tmp_path: Path) -> None:
    assert read_results(tmp_path / "results") == []
    assert results_page(tmp_path / "results").startswith("# Results")


def test_evidence_is_judged_and_drawn_again_from_its_own_table(plan: Plan, smoke_store: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    target = publish(plan, Store(smoke_store), results)
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    (target / "claims.json").write_text("[]")
    (target / "figure.png").unlink()
    assert renew(EXPERIMENT, results) == json.loads(before["claims.json"])
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    assert (tmp_path / "RESULTS.md").read_text() == results_page(results)


def test_the_page_says_what_is_missing(plan: Plan, smoke_store: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    source = publish(plan, Store(smoke_store), results) / "provenance.json"
    facts = json.loads(source.read_text())
    assert facts["missing"] == 0
    assert "not complete" not in results_page(results)
    source.write_text(json.dumps(facts | {"missing": 3}))
    assert f"not complete: 3 of {facts['runs'] + 3} runs are missing" in results_page(results)


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

"""Claims judged twice: which are the same, which differ, which lack the runs it takes."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Call
from recombine.lab.publish.compare import pair_claims, summaries


def claim(name: str, verdict: str = "holds", estimate: float | None = 0.5, **changes: Any) -> dict[str, Any]:
    return {"claim": name, "study": "bumps", "experiment": "torus", "budget": "full", "says": f"what {name} says",
            "paper": "not asked", "estimate": estimate, "interval": None if estimate is None else [0.25, 0.75],
            "n": 5, "verdict": verdict, "note": ""} | changes  # fmt: skip


COMMITTED = [claim("T1"), claim("T2"), claim("T3", "fails"), claim("T4"), claim("T1", experiment="squares")]
AGAIN = [
    claim("T2", "undecided", 0.1), claim("T1", estimate=0.4), claim("T3", "fails"), claim("T4", "undecided", None),
    claim("T9"), claim("T1", "fails", budget="smoke"), claim("T1", "fails", study="mine"),
]  # fmt: skip


def test_claims_are_paired_by_study_experiment_budget_and_name() -> None:
    pairs = pair_claims(AGAIN, COMMITTED)
    assert [(p.replicated["claim"], p.experiment, p.judged, p.same) for p in pairs] == [
        ("T2", "bumps/torus", True, False), ("T1", "bumps/torus", True, True), ("T3", "bumps/torus", True, True),
        ("T4", "bumps/torus", False, False),
    ]  # fmt: skip
    assert summaries(pairs) == ["bumps/torus: 2 of 3 verdicts are the same; runs are missing for 1"]
    assert summaries(pairs[:3]) == ["bumps/torus: 2 of 3 verdicts are the same"]
    assert summaries([]) == []


def test_the_command_names_what_differs(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, judged = tmp_path / "results/bumps/torus", tmp_path / "store/experiments/bumps/torus/full"
    for folder, claims in ((evidence, COMMITTED[:4]), (judged, AGAIN)):
        folder.mkdir(parents=True)
        (folder / "claims.json").write_text(json.dumps(claims))
    other = judged.parent / "full-1a2b3c"  # other settings: not the same claims
    other.mkdir()
    (other / "claims.json").write_text(json.dumps([claim("T1", "fails")]))
    monkeypatch.chdir(tmp_path)
    answer = call("compare", "--store", "store")
    assert answer.out.splitlines() == [
        "bumps/torus T2: what T2 says",
        "  holds, 0.5 (0.25 to 0.75); replication: undecided, 0.1 (0.25 to 0.75)",
        "bumps/torus: 2 of 3 verdicts are the same; runs are missing for 1",
    ]
    assert call("compare", "bumps/torus", "--store", "store").out == answer.out
    told = json.loads(call("compare", "bumps", "--json", "--store", "store").out)
    assert [pair["judged"] for pair in told] == [True, True, True, False]
    assert told[0]["committed"]["verdict"] == "holds"
    for words in (("compare", "--store", "none"), ("compare", "concept-space", "--store", "store")):
        answer = call(*words)
        assert answer.status == 2
        assert "was judged at full" in answer.err
    assert "no experiment 'nope'" in call("compare", "nope", "--store", "store").err

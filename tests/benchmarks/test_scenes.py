"""The benchmark of the ray caster counts scenes a second, and Blender's start out."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.scenes import NUMBERS, benchmark, main

from benchmarks import scenes as bench_scenes


def test_scenes_a_second_are_scenes_over_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_scenes, "best", lambda work, on_gpu=False: 0.5)
    timed = benchmark("cpu", 4)
    assert timed["scenes"] == timed["layouts"] == {str(number): 8 for number in NUMBERS}
    assert timed["of"] == 4
    assert timed["pixels"] == 64


def test_what_is_timed_is_drawn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shapes = []

    def once(work: Any, on_gpu: bool = False) -> float:
        shapes.append(tuple(work().shape))
        return 1.0

    monkeypatch.setattr(bench_scenes, "best", once)
    main(["--device", "cpu", "--scenes", "2"])
    assert [shape for shape in shapes if len(shape) == 4] == [(2, 3, 64, 64)] * 3
    assert json.loads(capsys.readouterr().out)["scenes"] == {"3": 2, "6": 2, "12": 2}


def test_the_start_of_blender_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which Blender takes 1 s to start and 0.25 s a scene."""
    clock, real = [0.0], bench_scenes.SceneWorld.render

    def render(described: list[Any], *size: int) -> None:
        clock[0] += 1 + 0.25 * len(described)

    def drawn(self: Any, factors: torch.Tensor) -> torch.Tensor:
        clock[0] += 0.005 * len(factors)
        return real(self, factors)

    monkeypatch.setattr(bench_scenes.blender, "render", render)
    monkeypatch.setattr(bench_scenes.SceneWorld, "render", drawn)
    monkeypatch.setattr(bench_scenes.time, "perf_counter", lambda: clock[0])
    timed = bench_scenes._beside_blender(bench_scenes.SceneWorld(), 16)
    assert timed["seconds"] == pytest.approx(0.25)
    assert timed["ratio"] == pytest.approx(50)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scenes", "0"], "0 scenes cannot be timed: ask for one at least"),
        (["--blender", "-1"], "-1 samples cannot be timed: ask for one at least"),
        (["--device", "toaster"], "toaster"),
        (["--scenes", "1", "--blender", "1"], "which RECOMBINE_BLENDER names"),
    ],
)
def test_what_cannot_be_timed_is_said_in_one_line(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("RECOMBINE_BLENDER", str(tmp_path / "none"))
    monkeypatch.setattr(bench_scenes, "TURNS", 1)
    with pytest.raises(SystemExit) as stopped:
        main([*words, *(["--device", "cpu"] if "--device" not in words else [])])
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("recombine: ")
    assert said in printed.err
    assert printed.err.count("\n") == 1

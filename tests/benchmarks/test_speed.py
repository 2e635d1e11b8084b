import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import speed as bench
from recombine.denoisers.configs import UNetConfig
from recombine.training.replica import TrainingConfig
from recombine.worlds.shapes import ShapesWorld


def test_a_rate_is_amount_over_the_median_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that only the work moves, half a second a call must read as 64 / 0.5; one slow timing is ignored."""
    clock, calls = [0.0], [0]
    monkeypatch.setattr(bench.time, "perf_counter", lambda: clock[0])

    def work() -> None:
        calls[0] += 1
        clock[0] += 50.0 if calls[0] == 8 else 0.5  # calls 1 to 6 warm up

    assert bench.sustained_rate(work, 64, seconds=5.0, on_gpu=False) == pytest.approx(128.0)
    assert calls[0] == 6 + 5 * 2  # five timings of two calls fill the five seconds


def test_training_flop_of_a_network_grows_with_the_square_of_its_width() -> None:
    world = ShapesWorld(pixels=8, position_jitter=0.0)
    narrow, wide = (bench.training_flop(world, bench.UNetConfig(channels=c)) for c in (32, 64))
    assert 3.5 < wide / narrow < 4.1


@pytest.mark.usefixtures("one_core")
def test_bench_answers_with_named_ratios_of_the_raw_numbers(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mm = bench.torch.mm  # smaller products, networks, batches and pools: their speed is not what is tested
    monkeypatch.setattr(bench.torch, "mm", lambda a, b: mm(a[:64, :64], b[:64, :64]))
    monkeypatch.setattr(bench, "UNetConfig", lambda channels, **rest: UNetConfig(channels=4, **rest))
    monkeypatch.setattr(bench, "TrainingConfig", lambda batch: TrainingConfig(batch=4))
    answer = call("bench", "--json", "--device", "cpu", "--seconds", "0.001")
    assert answer.status == 0
    measured = json.loads(answer.out)
    ratios, raw = measured["ratios"], measured["raw"]
    assert set(ratios) == {
        "train_fast_over_plain", "train_share_of_matmul_rate", "render_over_20k_images_per_second",
    }  # fmt: skip
    assert all(isinstance(value, float) and value > 0 for value in [*ratios.values(), *raw.values()])
    assert ratios["train_fast_over_plain"] == raw["fast_images_per_second"] / raw["plain_images_per_second"]
    assert ratios["render_over_20k_images_per_second"] == raw["render_images_per_second"] / 20_000
    work = raw["fast_images_per_second"] * raw["training_flop_per_image"]
    assert ratios["train_share_of_matmul_rate"] == work / raw["matmul_flop_per_second"]
    assert measured["machine"]["execution"]["device"] == "cpu"
    assert measured["seconds_each"] == 0.001


def test_bench_as_text_has_a_line_for_each_ratio(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    machine = {"device": "a machine", "torch": "1.2"}
    monkeypatch.setattr(bench, "run_bench", lambda device, seconds: {"ratios": {"x": 1.5, "y": 2}, "machine": machine})
    answer = call("bench")
    assert [line.split() for line in answer.out.splitlines()[:2]] == [["x", "1.5"], ["y", "2"]]
    assert "a machine" in answer.out.splitlines()[2]


@pytest.mark.parametrize("device", ["nonsense", "cpu:x", "cuda:99"])
def test_bench_on_a_device_that_is_not_there(call: Callable[..., Any], device: str) -> None:
    answer = call("bench", "--device", device)
    assert answer.status == 2
    assert answer.out == ""
    assert len(answer.err.splitlines()) == len(answer.complaints) == 1

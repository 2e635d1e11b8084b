"""The benchmark of pixel locality compares the same numbers, and scales what it measured to all rows."""

import json

import pytest
import torch
from benchmarks.locality import LOOPS, benchmark, one_by_one

from benchmarks import locality as bench_locality
from recombine.denoisers.configs import UNetConfig
from recombine.errors import UserError
from recombine.instruments.locality.gradients import Views, everywhere, heat_maps

TINY = bench_locality.NETWORK.replace(channels=4, multipliers=(1, 2), attention=())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 px, 4 noise levels."""
    monkeypatch.setattr(bench_locality, "SIDE", 16)
    monkeypatch.setattr(bench_locality, "LEVELS", 4)


@pytest.mark.usefixtures("small")
def test_seconds_are_those_of_all_rows_and_ratios_are_to_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock where a turn takes 3 s, batches of 192 rows and a loop of 12 rows differ by their scale."""
    monkeypatch.setattr(bench_locality, "_timed", lambda way, on_gpu: 3.0)
    timed = benchmark("cpu", sample=2, network=TINY)
    rows = 16 * 4 * 16 * 3
    assert timed["rows"] == rows
    assert timed["rows_measured"] == {"batched": 192} | dict.fromkeys(LOOPS, 12)
    assert timed["seconds"]["batched"] == pytest.approx(3 * rows / 192)
    assert timed["ratios"] == dict.fromkeys(LOOPS, pytest.approx(16))
    json.dumps(timed)


@pytest.mark.usefixtures("small")
def test_all_ways_give_the_same_numbers() -> None:
    timed = benchmark("cpu", sample=2, network=TINY)
    assert timed["largest_difference"] < 1e-5 < timed["largest_value"]
    assert all(value > 0 for value in timed["ratios"].values())


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("loop", LOOPS)
def test_each_loop_reads_the_heat_maps_of_a_network_with_attention(loop: str) -> None:
    network: UNetConfig = TINY.replace(attention=(1,))
    model, views = bench_locality._setting(network, 1, "cpu")
    part = Views(views.x[:2], views.sigma[:2], views.condition, views.pixels[:, 3:5])
    assert torch.allclose(one_by_one(model, part, loop), heat_maps(everywhere(model.denoise), part), atol=1e-6)


def test_a_device_that_is_not_there_gets_one_line() -> None:
    with pytest.raises(UserError, match="unknown device 'tpu'"):
        benchmark("tpu")

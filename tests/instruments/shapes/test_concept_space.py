"""Motion in concept space: errors, setbacks, their null model and the laws of slowing, on curves known by hand."""

import numpy as np
import pytest

from recombine.instruments.shapes.concept_space import (
    blurred,
    corner_error,
    monotone,
    setback,
    setback_by_chance,
    slowing,
    speeds,
)

SEEN = np.geomspace(4_000, 400_000, 40)


def risen(at: float, steep: float = 3.0) -> np.ndarray:
    return 1 / (1 + (at / SEEN) ** steep)


def test_error_and_setback_by_hand() -> None:
    path = [[0.0, 0.0], [0.5, 1.0], [0.0, 1.0], [1.0, 1.0]]
    assert corner_error(path).tolist() == [1.0, 0.125, 0.5, 0.0]
    assert setback(corner_error(path)) == 0.375
    assert setback([3.0, 2.0, 2.0, 0.5]) == 0.0


def test_monotone_is_the_nearest_curve_that_never_falls() -> None:
    assert monotone([1.0, 3.0, 2.0, 4.0]).tolist() == [1.0, 2.5, 2.5, 4.0]
    assert monotone([3.0, 2.0, 1.0]).tolist() == [2.0, 2.0, 2.0]


def test_noise_alone_passes_the_null_model_about_as_often_as_it_should() -> None:
    generator = np.random.default_rng(0)
    true = np.stack([risen(30_000), risen(12_000)], 1)
    beyond = 0
    for trial in range(200):
        seen = generator.binomial(100, true) / 100
        beyond += setback(corner_error(seen)) > np.quantile(setback_by_chance(seen, 100, 300, trial), 0.95)
    assert 0 <= beyond / 200 < 0.12  # at 0.05, on 200 paths; the fit to a noisy path costs a little


def test_a_real_swing_by_is_beyond_noise() -> None:
    swing = np.clip(risen(12_000) - 0.6 * np.exp(-0.5 * ((np.log(SEEN) - np.log(60_000)) / 0.4) ** 2), 0, 1)
    generator = np.random.default_rng(1)
    seen = generator.binomial(100, np.stack([swing, risen(10_000)], 1)) / 100
    assert setback(corner_error(seen)) > np.quantile(setback_by_chance(seen, 100, 500, 0), 0.95)


def test_blurring_keeps_a_constant_and_spreads_a_step() -> None:
    assert blurred(np.full((9, 2), 0.3), 2.0) == pytest.approx(np.full((9, 2), 0.3))
    step = blurred(np.repeat([0.0, 1.0], 10), 1.5)
    assert 0.1 < step[9] < 0.5 < step[10] < 0.9


def test_speeds_by_hand() -> None:
    at, moved = speeds([1_000, 2_000, 4_000], [[0.0, 0.0], [0.3, 0.4], [0.3, 0.4]])
    assert at == pytest.approx([np.sqrt(2) * 1_000, np.sqrt(8) * 1_000])
    assert moved == pytest.approx([0.5, 0.0])


@pytest.mark.parametrize("law", ["power", "exponential"])
def test_the_law_that_made_the_speeds_wins_on_runs_it_has_not_seen(law: str) -> None:
    generator = np.random.default_rng(2)
    clean = SEEN**-1.5 if law == "power" else np.exp(-SEEN / 60_000)
    runs = [(SEEN, clean * np.exp(0.3 * generator.standard_normal(len(SEEN)))) for _ in range(5)]
    laws = slowing(runs)
    gain = laws.power - laws.exponential
    assert (gain > 0).all() if law == "power" else (gain < 0).all()


def test_a_single_run_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="at least two"):
        slowing([(SEEN, SEEN)])

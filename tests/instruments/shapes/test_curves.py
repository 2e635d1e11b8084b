"""Curves with known answers: steps, ramps, constants, dips."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.instruments.shapes.curves import emergence_time, rise, smooth

SEEN = np.arange(1, 11) * 100.0


def test_a_step_emerges_where_it_jumps():
    value = np.where(SEEN >= 500, 1.0, 0.0)
    assert emergence_time(SEEN, value) == 500
    assert emergence_time(SEEN, np.ones(10)) == 100
    assert emergence_time(SEEN, np.full(10, 0.79)) is None
    assert emergence_time(SEEN, np.full(10, 0.8)) == 100  # reaching is enough


def test_a_blip_is_not_emergence():
    value = [0, 0.9, 0.9, 0, 0, 0.9, 0.9, 0.9, 0, 0]
    assert emergence_time(SEEN, value) == 600
    assert emergence_time(SEEN, value, consecutive=1) == 200
    assert emergence_time(SEEN, value, consecutive=4) is None
    assert emergence_time(SEEN, [0, 0, 0, 0.9, 0.9, np.nan, 0.9, 0, 0, 0]) is None


def test_a_run_to_the_end_of_the_curve_counts():
    assert emergence_time(SEEN, [0] * 9 + [0.9]) == 1000
    assert emergence_time(SEEN, [0] * 7 + [0.9, 0, 0.9]) == 1000
    assert emergence_time([], []) is None


def test_rise_of_a_straight_line_is_its_share():
    line = np.linspace(0.2, 1.0, 10)
    assert rise(SEEN, line) == pytest.approx(0.8 * 900)
    assert rise(SEEN, line, 0.25, 0.5) == pytest.approx(0.25 * 900)
    assert rise(SEEN, line, log=True) == pytest.approx(math.log10((100 + 810) / (100 + 90)))


def test_rise_of_a_step_is_within_one_interval():
    assert rise(SEEN, np.where(SEEN >= 500, 1.0, 0.0)) == pytest.approx(80)


def test_rise_begins_where_the_curve_last_left_the_ground():
    value = [0, 0.5, 0, 0, 0, 0, 1, 1, 1, 1]
    assert rise(SEEN, value) == pytest.approx(80)


@pytest.mark.parametrize("value", [np.full(10, 0.7), np.linspace(1, 0, 10), np.array([0, 1] * 4 + [1, 0.0])])
def test_a_curve_that_does_not_end_above_its_start_has_no_rise(value):
    assert rise(SEEN, value) is None


def test_degenerate_curves():
    assert rise([100.0], [1.0]) is None
    assert rise(SEEN, [0] * 5 + [np.nan] + [1] * 4) is None
    with pytest.raises(ValueError, match="increase"):
        rise([2, 1], [0, 1])
    with pytest.raises(ValueError, match="equally long"):
        emergence_time([1, 2], [0])
    with pytest.raises(ValueError, match="low"):
        rise(SEEN, SEEN, 0.9, 0.1)
    with pytest.raises(ValueError, match="consecutive"):
        emergence_time(SEEN, SEEN, consecutive=0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.floats(0.5, 100), st.floats(0.1, 5), st.floats(-1, 1))
def test_rise_scales_with_time_and_not_with_height(value, pace, height, floor):
    seen = np.arange(1, len(value) + 1) * 1.0
    values = np.round(np.array(value), 3)  # so that a rise survives rescaling
    levels = (0.1234567, 0.8765432)  # no ratio of such values, so that rounding never decides which side one is on
    own, scaled = rise(seen, values, *levels), rise(pace * seen, height * values + floor, *levels)
    assert (own is None) == (scaled is None)
    if own is not None and scaled is not None:
        assert scaled == pytest.approx(pace * own, rel=1e-6)
        decades = rise(pace * seen, values, *levels, log=True)
        assert rise(seen, values, *levels, log=True) == pytest.approx(decades, rel=1e-6)


def test_smooth_is_a_trailing_mean_with_a_short_start():
    assert smooth([1, 2, 3, 4, 5], 3).tolist() == pytest.approx([1, 1.5, 2, 3, 4])
    assert smooth([1, 2, 3], 1).tolist() == [1, 2, 3]
    assert smooth([1, 2], 10).tolist() == pytest.approx([1, 1.5])
    assert len(smooth([], 3)) == 0
    with pytest.raises(ValueError, match="window"):
        smooth([1], 0)


def test_smoothing_delays_a_step_and_spreads_it():
    value = np.where(SEEN >= 500, 1.0, 0.0)
    assert emergence_time(SEEN, smooth(value, 4)) == 800
    assert rise(SEEN, smooth(value, 4)) == pytest.approx(320)

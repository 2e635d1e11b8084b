"""The toy of emergence: its closed form against known values, against its own inverse and against simulation."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.errors import UserError
from recombine.theory.emergence import composed_by, learned_at, time_to_compose

KNOWN = {
    0.5: {1: 69, 2: 123, 3: 158, 4: 183, 8: 248, 16: 315, 32: 383},
    0.9: {1: 230, 2: 296, 3: 335, 4: 364, 8: 432, 16: 501, 32: 569},
}

many = st.integers(1, 64)
chances = st.floats(1e-4, 0.95)
levels = st.floats(1e-3, 0.999)


def after(step: int, atoms: int, chance: float) -> float:
    return float(composed_by(torch.tensor([step]), atoms, chance))


# The closed form


@pytest.mark.parametrize(
    ("level", "atoms", "step"), [(p, n, t) for p, column in KNOWN.items() for n, t in column.items()]
)
def test_known_times_at_one_percent(level: float, atoms: int, step: int) -> None:
    assert time_to_compose(atoms, 0.01, level) == step


def test_probabilities_by_hand() -> None:
    """Three atoms, a half each: 0, then 1/8, 27/64, 343/512."""
    steps = torch.tensor([0, 1, 2, 3])
    expected = torch.tensor([0, 1 / 8, 27 / 64, 343 / 512], dtype=torch.float64)
    assert composed_by(steps, 3, 0.5).dtype == torch.float64
    torch.testing.assert_close(composed_by(steps, 3, 0.5), expected, rtol=1e-14, atol=0)
    assert composed_by(steps.reshape(2, 2), 3, 0.5).shape == (2, 2)


def test_a_level_that_is_met_exactly_is_reached() -> None:
    assert time_to_compose(1, 0.5, 0.5) == 1
    assert time_to_compose(1, 0.5, 0.75) == 2
    assert time_to_compose(3, 0.5, 27 / 64) == 2
    assert time_to_compose(3, 0.5, math.nextafter(27 / 64, 1)) == 3


def test_small_chances_do_not_cancel() -> None:
    """For p t far below 1 the probability of one atom is p t."""
    assert after(10, 1, 1e-15) == pytest.approx(1e-14, rel=1e-9)
    assert time_to_compose(1, 1e-9, 0.5) == pytest.approx(math.log(2) * 1e9, rel=1e-8)


@given(many, chances, levels)
def test_it_is_the_first_step_at_which_the_level_is_reached(atoms: int, chance: float, level: float) -> None:
    step = time_to_compose(atoms, chance, level)
    assert step >= 1
    assert after(step, atoms, chance) >= level
    assert after(step - 1, atoms, chance) < level


@given(many, many, chances, levels)
def test_more_atoms_are_later(few: int, more: int, chance: float, level: float) -> None:
    few, more = sorted((few, more))
    assert time_to_compose(few, chance, level) <= time_to_compose(more, chance, level)
    assert after(20, few, chance) >= after(20, more, chance)


@given(many, chances, chances, levels)
def test_a_better_chance_is_earlier(atoms: int, worse: float, better: float, level: float) -> None:
    worse, better = sorted((worse, better))
    assert time_to_compose(atoms, better, level) <= time_to_compose(atoms, worse, level)


@given(many, chances, levels, levels)
def test_a_higher_level_is_later(atoms: int, chance: float, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert time_to_compose(atoms, chance, low) <= time_to_compose(atoms, chance, high)


@given(many, chances)
def test_probability_grows_with_time_from_nothing_towards_one(atoms: int, chance: float) -> None:
    curve = composed_by(torch.arange(0, 500), atoms, chance)
    assert curve[0] == 0
    assert (curve.diff() >= 0).all()
    assert curve[-1] <= 1
    assert after(10**9, atoms, chance) == 1


def test_it_grows_like_the_logarithm_of_the_number_of_atoms() -> None:
    """Twice the atoms cost log 2 / -log(1 - p) steps more once there are many."""
    times = [time_to_compose(2**k, 0.001, 0.5) for k in range(6, 12)]
    for early, late in pairwise(times):
        assert late - early == pytest.approx(math.log(2) / -math.log1p(-0.001), rel=0.01)


# The simulation


@pytest.mark.parametrize(("atoms", "chance"), [(1, 0.5), (1, 0.01), (4, 0.01), (32, 0.05), (3, 0.9)])
def test_simulation_agrees_with_the_closed_form(atoms: int, chance: float) -> None:
    """By the inequality of Dvoretzky, Kiefer and Wolfowitz no share is off by more, but once in a million seeds."""
    trials = 20_000
    times = learned_at(atoms, chance, trials, seed=0)
    steps = torch.arange(0, int(times.max()) + 1)
    shares = (times[None] <= steps[:, None]).double().mean(1)
    assert (shares - composed_by(steps, atoms, chance)).abs().max() < math.sqrt(math.log(2 / 1e-6) / (2 * trials))


def test_simulated_times_are_whole_steps_from_the_first() -> None:
    times = learned_at(2, 0.9, 5_000, seed=1)
    assert times.shape == (5_000,)
    assert times.min() == 1
    assert torch.equal(times, times.round())


def test_a_seed_gives_the_same_trials_and_another_seed_others() -> None:
    assert torch.equal(learned_at(4, 0.01, 100, seed=3), learned_at(4, 0.01, 100, seed=3))
    assert not torch.equal(learned_at(4, 0.01, 100, seed=3), learned_at(4, 0.01, 100, seed=4))


def test_more_trials_change_none_of_the_first() -> None:
    assert torch.equal(learned_at(4, 0.01, 1_000, seed=3)[:10], learned_at(4, 0.01, 10, seed=3))


def test_atoms_are_drawn_apart() -> None:
    """If all atoms of a trial were one and the same, a second would cost nothing."""
    assert learned_at(2, 0.01, 5_000, seed=0).mean() > 1.3 * learned_at(1, 0.01, 5_000, seed=0).mean()


# Bad input


@pytest.mark.parametrize("atoms", [0, -3])
def test_no_atoms_are_refused_in_one_line(atoms: int) -> None:
    for ask in (
        lambda: composed_by(torch.tensor([1]), atoms, 0.1),
        lambda: time_to_compose(atoms, 0.1, 0.5),
        lambda: learned_at(atoms, 0.1, 10, 0),
    ):
        with pytest.raises(UserError, match=rf"^{atoms} atoms: .* at least one$"):
            ask()


@pytest.mark.parametrize("chance", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_chance_that_is_none_is_refused_in_one_line(chance: float) -> None:
    for ask in (
        lambda: composed_by(torch.tensor([1]), 2, chance),
        lambda: time_to_compose(2, chance, 0.5),
        lambda: learned_at(2, chance, 10, 0),
    ):
        with pytest.raises(UserError, match=rf"^chance {chance:g}: .* strictly between 0 and 1 is needed$"):
            ask()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 2.0, math.nan])
def test_a_level_that_is_never_or_always_reached_is_refused_in_one_line(level: float) -> None:
    with pytest.raises(UserError, match=rf"^level {level:g}: .* strictly between 0 and 1 is needed$"):
        time_to_compose(2, 0.1, level)

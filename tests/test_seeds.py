"""Keyed randomness: an independent integer hash, known distributions, and no trace in the global generator."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recombine import seeds
from recombine.seeds import Seeds, bits, fold, keys, normal, torch_seeded, uniform

MASK = 2**32 - 1
STREAMS = ("data", "init", "order", "sampling")


def run_of_keys(count, seed=0, name="test", start=0):
    return keys(seed, name, torch.arange(start, start + count))


def murmur(h):
    """The finaliser of MurmurHash3 on Python integers, which cannot overflow."""
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & MASK
    return h ^ (h >> 16)


def words(key, count, lane):
    low, high = key & MASK, key >> 32
    lanes = lane * 0x632BE5AB & MASK
    base = murmur(low ^ murmur(high ^ murmur(lanes)))
    twin = murmur(high ^ murmur(low ^ murmur(lanes ^ 0x5BD1E995)))
    return [murmur(murmur((base + murmur(i)) & MASK) ^ twin) for i in range(count)]


def correlation(a, b):
    return float(np.corrcoef(a.double().flatten(), b.double().flatten())[0, 1])


def test_the_hash_is_murmur3s():
    # The hash of the empty string with seed 1 is the finaliser of 1: a published test vector of MurmurHash3_x86_32.
    mixed = seeds._mix(torch.tensor([1, -1], dtype=torch.int32)).long() & MASK
    assert mixed.tolist() == [0x514E28B7, 0x81F16F39]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4), st.integers(1, 5), st.integers(0, 10_000))
def test_bits_equal_an_implementation_without_overflow(numbers, count, lane):
    got = bits(torch.tensor(numbers, dtype=torch.int64), count, lane)
    assert got.dtype == torch.int64
    assert got.tolist() == [words(key, count, lane) for key in numbers]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 199), min_size=1, max_size=30), st.integers(0, 5))
def test_a_key_gives_the_same_numbers_in_any_batch(chosen, lane):
    index = torch.tensor(chosen)
    for draw in (normal, uniform):
        assert torch.equal(
            draw(keys(3, "sample", index), (2, 3), lane), draw(run_of_keys(200, 3, "sample"), (2, 3), lane)[index]
        )


def test_shapes_and_dtypes():
    for draw in (normal, uniform):
        assert draw(run_of_keys(4), (3, 5, 5)).shape == (4, 3, 5, 5)  # an odd count drops one of a Box-Muller pair
        assert draw(run_of_keys(4)).shape == (4,)
        assert draw(run_of_keys(0), (3,)).shape == (0, 3)
        assert draw(run_of_keys(4), (2,)).dtype == torch.float32


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("layout", [(100_000, ()), (100, (1000,))], ids=["across keys", "within keys"])
def test_distributions(seed, layout):
    count, shape = layout
    key = run_of_keys(count, seed)
    gauss, flat = normal(key, shape).double().flatten().numpy(), uniform(key, shape).double().flatten().numpy()
    n = len(gauss)
    assert stats.kstest(gauss, "norm").pvalue > 1e-4
    assert stats.kstest(flat, "uniform").pvalue > 1e-4
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):  # of x^power, x standard normal
        assert (gauss**power).mean() == pytest.approx(moment, abs=5 * (variance / n) ** 0.5)
    assert flat.mean() == pytest.approx(1 / 2, abs=5 * (1 / 12 / n) ** 0.5)
    assert flat.var() == pytest.approx(1 / 12, abs=5 * (1 / 180 / n) ** 0.5)
    assert np.abs(gauss).max() > 3.9  # tails are there: P(all of 100,000 below 3.9) is 7e-5


@pytest.mark.parametrize("lane", [0, 1, 11])
def test_every_bit_is_fair(lane):
    drawn = bits(run_of_keys(20_000), 4, lane).flatten()
    share = torch.stack([(drawn >> bit & 1).double().mean() for bit in range(32)])
    assert (share - 0.5).abs().max() < 5 * 0.5 / len(drawn) ** 0.5
    assert drawn.min() >= 0
    assert drawn.max() <= MASK


@pytest.mark.parametrize("draw", [normal, uniform])
def test_neighbours_are_independent(draw):
    """Keys, lanes, elements, streams and seeds next to each other: no correlation of values, nor of their squares."""
    one = draw(run_of_keys(4001), (64,)) - (0.5 if draw is uniform else 0)
    key = run_of_keys(4000)
    middle = 0.5 if draw is uniform else 0
    pairs = {
        "keys": (one[:-1], one[1:]),
        "elements": (one[:, :-1], one[:, 1:]),
        "halves": (one[:, :32], one[:, 32:]),  # the two normals that share a radius
        "lanes": (one[:-1], draw(key, (64,), lane=1) - middle),
        "later lanes": (draw(key, (64,), lane=2) - middle, draw(key, (64,), lane=3) - middle),
        "seeds": (one[:-1], draw(run_of_keys(4000, 1), (64,)) - middle),
        "streams": (one[:-1], draw(run_of_keys(4000, 0, "other"), (64,)) - middle),
    }
    for name, (a, b) in pairs.items():
        bound = 5 / a.numel() ** 0.5
        assert abs(correlation(a, b)) < bound, name
        assert abs(correlation(a.square(), b.square())) < bound, name


def test_lanes_of_one_key_never_repeat():
    key = run_of_keys(50)
    drawn = torch.cat([bits(key, 2, lane) for lane in range(501)])  # the lanes of the longest sampler
    assert len(drawn.unique(dim=0)) == len(drawn)


@pytest.mark.parametrize("word", [0, MASK])
def test_extreme_words_stay_inside(word, monkeypatch):
    signed = word - 2**32 if word >= 2**31 else word
    full = lambda key, count, lane: torch.full((len(key), count), signed, dtype=torch.int32)  # noqa: E731
    monkeypatch.setattr(seeds, "_words", full)
    flat = uniform(run_of_keys(2), (3,))
    assert ((flat > 0) & (flat < 1)).all()
    assert flat[0, 0].item() == pytest.approx(2.0**-24 if word == 0 else 1 - 2.0**-24, rel=0, abs=0)
    gauss = normal(run_of_keys(2), (4,))
    assert gauss.isfinite().all()
    # The smallest word is the largest radius, sqrt(-2 log 2^-24), at angle 0; the largest is radius almost 0.
    assert gauss[0, 0].item() == pytest.approx((48 * np.log(2)) ** 0.5 if word == 0 else 2.0**-11.5, abs=1e-5)


def test_torch_seeded_restores_the_global_state():
    before = torch.random.get_rng_state()
    with torch_seeded(3):
        first = torch.randn(5)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.randn(7)  # what was drawn outside does not matter
    moved = torch.random.get_rng_state()
    with torch_seeded(3):
        assert torch.equal(torch.randn(5), first)
    with torch_seeded(4):
        assert not torch.equal(torch.randn(5), first)
    with pytest.raises(ZeroDivisionError), torch_seeded(3):
        torch.randn(5).add_(1 / 0)
    assert torch.equal(torch.random.get_rng_state(), moved)


def test_drawing_leaves_the_global_state_alone():
    before = torch.random.get_rng_state()
    normal(run_of_keys(10), (10,))
    uniform(run_of_keys(10), (10,))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_four_streams_differ():
    replicate = Seeds.all(7)
    assert [getattr(replicate, name) for name in STREAMS] == [7, 7, 7, 7]
    drawn = [normal(run_of_keys(100, 7, name), (16,)) for name in STREAMS]
    for one, other in itertools.combinations(drawn, 2):
        assert abs(correlation(one, other)) < 5 / 1600**0.5


def test_fold_separates_names_and_seeds():
    names = [*STREAMS, "sample", "torch", "probes"]
    folded = {fold(seed, name) for seed in range(100) for name in names}
    assert len(folded) == 100 * len(names)
    assert all(0 <= number < 2**31 for number in folded)
    assert fold(1, "data") == fold(1, "data")


def test_keys_hold_stream_and_index():
    index = torch.tensor([0, 1, 12345, MASK], dtype=torch.int64)
    key = keys(5, "data", index)
    assert (key >= 0).all()
    assert (key & MASK).tolist() == index.tolist()
    assert (key >> 32).unique().tolist() == [fold(5, "data")]
    assert torch.equal(keys(5, "data", index[:3].int()), key[:3])  # narrower integers too

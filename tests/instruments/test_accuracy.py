"""Accuracy rows on correctness whose answers are known."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.instruments.accuracy import accuracy_rows, probe_correct, probe_rows, reader_correct, reader_rows
from recombine.instruments.probes import Probes
from recombine.instruments.reader import Reading, read
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import real_images

CONCEPTS = ("shape", "color", "size")


def values(rows):
    assert len({row["node"] for row in rows}) == 1
    return {row["instrument"]: row["value"] for row in rows}


def reading(objects, digits):
    n = len(objects)
    blank = torch.zeros(n)
    return Reading(torch.tensor(objects, dtype=torch.int8), torch.tensor(digits), blank, blank, blank, blank)


def test_known_correctness():
    correct = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]], dtype=torch.bool)
    chances = torch.tensor([[1, 1, 0.5], [1, 1, 0], [0.5, 0.5, 0.4], [0, 0, 0]])
    rows = accuracy_rows("011", correct, "probe", CONCEPTS, chances)
    assert rows[0] == {"node": "011", "instrument": "probe.product", "value": 0.25}
    assert values(rows) == pytest.approx(
        {
            "probe.product": 0.25,
            "probe.shape": 1.0,
            "probe.color": 0.5,
            "probe.size": 0.5,
            "probe.additive": 2 / 3,
            "probe.marginals": 0.25,
            "probe.probability": (0.5 + 0 + 0.1 + 0) / 4,
        }
    )


@pytest.mark.parametrize("answer", [True, False])
def test_all_right_and_all_wrong(answer):
    rows = values(accuracy_rows("0", torch.full((5, 3), answer), "reader", CONCEPTS))
    assert set(rows.values()) == {float(answer)}


def test_concepts_that_fail_together_break_the_product_of_marginals():
    together = values(accuracy_rows("0", torch.tensor([[True] * 2, [False] * 2]), "r", ("a", "b")))
    assert (together["r.product"], together["r.marginals"]) == (0.5, 0.25)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_product_is_never_above_a_concept(correct):
    rows = values(accuracy_rows("0", torch.tensor(correct), "r", CONCEPTS))
    assert rows["r.product"] <= min(rows[f"r.{name}"] for name in CONCEPTS) + 1e-12
    assert rows["r.additive"] >= rows["r.marginals"] - 1e-12


def test_no_images_is_an_error():
    with pytest.raises(ValueError, match="no images"):
        accuracy_rows("000", torch.zeros(0, 3, dtype=torch.bool), "reader", CONCEPTS)


def test_without_exactly_one_object_nothing_is_right():
    seen = reading([1, 0, 2, 1], [[0, 1, 1], [0, 1, 1], [0, 1, 1], [0, -1, 1]])
    target = torch.tensor([[0, 1, 1]])
    assert reader_correct(seen, target).tolist() == [[True] * 3, [False] * 3, [False] * 3, [True, False, True]]
    rows = values(reader_rows("011", seen, target, CONCEPTS))
    assert rows["reader.product"] == 0.25
    assert rows["reader.shape"] == 0.5
    assert rows["reader.none"] == 0.25
    assert rows["reader.several"] == 0.25


def test_reader_rows_of_real_images():
    world = ShapesWorld()
    images, digits = real_images(world, ("110",), 20, 0, "accuracy-test")
    rows = values(reader_rows("110", read(images, world), digits, tuple(world.concepts)))
    assert rows.pop("reader.none") == rows.pop("reader.several") == 0
    assert set(rows.values()) == {1.0}


def test_probe_probability_of_the_right_value():
    """Probes that ignore the image: odds 3 to 1 for the first shape, even odds for the colour."""
    bias = torch.tensor([3.0, 1.0, 1.0, 1.0]).log()
    probes = Probes({"shape": ("a", "b"), "color": ("c", "d")}, torch.zeros(4, 4), bias)
    images = torch.zeros(6, 1, 2, 2)
    right, chance = probe_correct(probes, images, torch.tensor([[0, 1]]))
    assert right[:, 0].all()
    assert not right[:, 1].any()  # the first of equals is answered
    assert torch.allclose(chance, torch.tensor([[0.75, 0.5]]).expand(6, 2))
    rows = values(probe_rows("01", probes, images, torch.tensor([[0, 1]]), ("shape", "color")))
    assert rows["probe.probability"] == pytest.approx(0.375)
    assert rows["probe.product"] == 0

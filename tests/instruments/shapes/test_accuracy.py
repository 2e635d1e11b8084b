"""Accuracy rows on correctness whose answers are known."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.instruments.shapes.accuracy import (
    accuracy_rows,
    answer_rows,
    disagreement_rows,
    probe_correct,
    probe_rows,
    reader_correct,
    reader_rows,
)
from recombine.instruments.shapes.probes import Probes
from recombine.instruments.shapes.reader import Measured, read
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import real_images
from support.tables import short

VALUES = {"shape": ("circle", "triangle"), "color": ("red", "blue"), "size": ("large", "small")}
CONCEPTS = tuple(VALUES)


def values(rows):
    return {short(row): row["value"] for row in rows}


def measured(objects, digits):
    n = len(objects)
    blank = torch.zeros(n)
    return Measured(torch.tensor(objects, dtype=torch.int8), torch.tensor(digits), blank, blank, blank, blank)


def test_known_correctness():
    correct = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]], dtype=torch.bool)
    chances = torch.tensor([[1, 1, 0.5], [1, 1, 0], [0.5, 0.5, 0.4], [0, 0, 0]])
    rows = accuracy_rows(correct, "probe", CONCEPTS, chances)
    assert rows[0] == {"instrument": "probe.product", "value": 0.25}
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
    rows = values(accuracy_rows(torch.full((5, 3), answer), "reader", CONCEPTS))
    assert set(rows.values()) == {float(answer)}


def test_concepts_that_fail_together_break_the_product_of_marginals():
    together = values(accuracy_rows(torch.tensor([[True] * 2, [False] * 2]), "r", ("a", "b")))
    assert (together["r.product"], together["r.marginals"]) == (0.5, 0.25)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_product_is_never_above_a_concept(correct):
    rows = values(accuracy_rows(torch.tensor(correct), "r", CONCEPTS))
    assert rows["r.product"] <= min(rows[f"r.{name}"] for name in CONCEPTS) + 1e-12
    assert rows["r.additive"] >= rows["r.marginals"] - 1e-12


def test_no_images_is_an_error():
    with pytest.raises(ValueError, match="at least one image"):
        accuracy_rows(torch.zeros(0, 3, dtype=torch.bool), "reader", CONCEPTS)


def test_without_exactly_one_object_nothing_is_right():
    seen = measured([1, 0, 2, 1], [[0, 1, 1], [0, 1, 1], [0, 1, 1], [0, -1, 1]])
    target = torch.tensor([[0, 1, 1]])
    assert reader_correct(seen, target).tolist() == [[True] * 3, [False] * 3, [False] * 3, [True, False, True]]
    rows = values(reader_rows(seen, target, VALUES))
    assert rows["reader.product"] == 0.25
    assert rows["reader.shape"] == 0.5
    assert rows["reader.none"] == 0.25
    assert rows["reader.several"] == 0.25


def test_each_value_is_counted_where_one_object_shows_it_whatever_was_asked_for():
    seen = measured([1, 1, 1, 1, 0, 2], [[0, 1, 1], [1, 1, 0], [1, -1, 1], [-1, 1, 1], [0, 0, 0], [0, 0, 0]])
    expected = {
        "reader.shape=circle": 1 / 6,
        "reader.shape=triangle": 2 / 6,
        "reader.color=red": 0,
        "reader.color=blue": 3 / 6,
        "reader.size=large": 1 / 6,
        "reader.size=small": 3 / 6,
    }
    for target in ([[0, 1, 1]], [[1, 0, 0]]):
        rows = values(reader_rows(seen, torch.tensor(target), VALUES))
        assert {name: rows[name] for name in rows if "=" in name} == pytest.approx(expected)


def test_reader_rows_of_real_images():
    world = ShapesWorld()
    images, digits = real_images(world, ("110",), 20, 0, "accuracy-test")
    rows = values(reader_rows(read(images, world), digits, world.concepts))
    absent = ("none", "several", "shape=circle", "color=red", "size=small")
    assert {rows.pop(f"reader.{name}") for name in absent} == {0.0}
    assert {"reader.shape=triangle", "reader.color=blue", "reader.size=large"} < set(rows)
    assert set(rows.values()) == {1.0}


def signs():
    """Probes that answer 0 where their concept's pixel is bright and 1 where it is dark."""
    weight = torch.tensor([[1.0, -1, 0, 0], [0, 0, 1, -1]])  # [pixels, values]
    return Probes({"shape": ("a", "b"), "color": ("c", "d")}, weight, torch.zeros(4))


def dots(answers):
    """Images that these probes answer so; None is not a number."""
    pixels = [[torch.nan] * 2 if answer is None else [1.0 - 2 * digit for digit in answer] for answer in answers]
    return torch.tensor(pixels).view(-1, 1, 1, 2)


def test_what_the_probes_pass_and_the_reader_does_not_is_split_by_its_kind():
    images = dots([(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (0, 0), (1, 1), None])
    seen = measured([0, 2, 1, 1, 1, 0, 2, 0], [[-1, -1], [0, 1], [0, 1], [0, 0], [0, -1], [-1, -1], [0, 1], [-1, -1]])
    rows = disagreement_rows(signs(), images, seen, torch.tensor([[0, 1]]))
    assert rows[0] == {"instrument": "probe.product.none", "value": 1 / 8}
    assert values(rows) == {"probe.product.none": 1 / 8, "probe.product.several": 1 / 8, "probe.product.other": 2 / 8}
    nobody = disagreement_rows(signs(), images, seen, torch.tensor([[1, 0]]))
    assert set(values(nobody).values()) == {0.0}


IMAGES = st.tuples(
    st.tuples(st.integers(0, 1), st.integers(0, 1)),  # what the probes answer
    st.integers(0, 2),  # how many objects the reader finds
    st.tuples(st.integers(-1, 1), st.integers(-1, 1)),  # what it says they are
)


@settings(max_examples=50, deadline=None)
@given(st.lists(IMAGES, min_size=1, max_size=20), st.tuples(st.integers(0, 1), st.integers(0, 1)))
def test_agreement_and_the_kinds_of_disagreement_make_up_the_product(drawn, target):
    answers, objects, digits = zip(*drawn, strict=True)
    images, seen, asked = dots(answers), measured(objects, digits), torch.tensor([target])
    both = sum(a == target and o == 1 and d == target for a, o, d in drawn) / len(drawn)
    kinds = values(disagreement_rows(signs(), images, seen, asked))
    product = values(probe_rows(signs(), images, asked))["probe.product"]
    assert both + sum(kinds.values()) == pytest.approx(product)


def test_probe_probability_of_the_right_value():
    """Probes that ignore the image: odds 3 to 1 for the first shape, even odds for the colour."""
    bias = torch.tensor([3.0, 1.0, 1.0, 1.0]).log()
    probes = Probes({"shape": ("a", "b"), "color": ("c", "d")}, torch.zeros(4, 4), bias)
    images = torch.zeros(6, 1, 2, 2)
    right, chance = probe_correct(probes, images, torch.tensor([[0, 1]]))
    assert right[:, 0].all()
    assert not right[:, 1].any()  # the first of equals is answered
    assert torch.allclose(chance, torch.tensor([[0.75, 0.5]]).expand(6, 2))
    rows = values(probe_rows(probes, images, torch.tensor([[0, 1]])))
    assert rows["probe.probability"] == pytest.approx(0.375)
    assert rows["probe.product"] == 0
    named = probe_rows(probes, images, torch.tensor([[0, 1]]), "classifier")
    assert values(named) == {name.replace("probe", "classifier"): value for name, value in rows.items()}


def test_answers_are_the_mean_probability_of_each_value():
    """Odds 3 to 1 for the first shape of one image; nothing is probable in an image that is not a number."""
    bias = torch.tensor([3.0, 1.0, 1.0, 1.0]).log()
    probes = Probes({"shape": ("a", "b"), "color": ("c", "d")}, torch.zeros(2, 4), bias)
    rows = answer_rows(probes, dots([(0, 0), None]), "judge")
    expected = {"judge.shape=a": 0.375, "judge.shape=b": 0.125, "judge.color=c": 0.25, "judge.color=d": 0.25}
    assert values(rows) == pytest.approx(expected)

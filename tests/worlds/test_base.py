"""The graph of concepts that every world has: nodes, digits, words and distances."""

from itertools import permutations
from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import UserError
from recombine.worlds.base import World, concept_distance


class Coins(World):
    """A world without pictures: two concepts, of two and of three values."""

    kind: Literal["coins"] = "coins"

    @property
    def concepts(self):
        return {"side": ("heads", "tails"), "metal": ("gold", "silver", "copper")}

    @property
    def image_shape(self):
        return (1, 4, 4)

    @property
    def condition_widths(self):
        return (1, 1)

    def prototype(self, nodes):
        return nodes.float()

    def vary(self, nodes, key):
        return self.prototype(nodes)

    def render(self, factors):
        return factors.mean(1)[:, None, None, None].expand(-1, 1, 4, 4)

    def condition(self, factors):
        return factors


NODES = st.lists(st.integers(0, 2), min_size=4, max_size=4).map(lambda digits: "".join(map(str, digits)))


def test_nodes_in_counting_order():
    assert Coins().nodes == ("00", "01", "02", "10", "11", "12")


def test_remembered_nodes_do_not_change_the_identity_of_a_world():
    used, fresh = Coins(), Coins()
    assert used.nodes
    assert used == fresh
    assert hash(used) == hash(fresh)
    assert used.model_dump() == fresh.model_dump() == {"kind": "coins"}


def test_digits_of_names():
    digits = Coins().digits(["12", "00", "01"])
    assert digits.dtype == torch.int64
    assert digits.tolist() == [[1, 2], [0, 0], [0, 1]]
    assert Coins().digits("12").tolist() == [[1, 2]]  # one name, not two of one digit
    assert Coins().digits(("02",)).tolist() == [[0, 2]]


def test_digits_of_no_names():
    assert Coins().digits(()).shape == (0, 2)


@pytest.mark.parametrize("node", ["20", "03", "0", "000", "", "ab"])
def test_a_node_that_is_not_there(node):
    with pytest.raises(UserError) as caught:
        Coins().digits(["00", node])
    message = str(caught.value)
    assert f"no node '{node}'" in message
    assert "side: heads/tails, metal: gold/silver/copper" in message
    assert "\n" not in message


def test_nodes_in_words():
    assert Coins().describe("12") == "tails copper"
    assert [Coins().describe(node) for node in Coins().nodes][:2] == ["heads gold", "heads silver"]


def test_a_world_must_say_everything():
    class Half(World):
        @property
        def concepts(self):
            return {"side": ("heads", "tails")}

    with pytest.raises(TypeError, match="abstract"):
        Half()


def test_distances_that_are_known():
    assert concept_distance("000", "000") == 0
    assert concept_distance("000", "010") == 1
    assert concept_distance("000", "111") == 3
    assert concept_distance("02", "00") == 1  # two values apart is still one concept
    with pytest.raises(ValueError):
        concept_distance("00", "000")


@settings(max_examples=30, deadline=None)
@given(NODES, NODES, NODES)
def test_distance_is_a_metric(a, b, c):
    assert (concept_distance(a, b) == 0) == (a == b)
    for one, middle, other in permutations((a, b, c)):
        assert concept_distance(one, other) == concept_distance(other, one)
        assert concept_distance(one, other) <= concept_distance(one, middle) + concept_distance(middle, other)

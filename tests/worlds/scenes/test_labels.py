"""Labels of scenes: grids and lists, of all objects or of one."""

import pytest
import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.worlds.scenes.labels import LabelConfig

PLACES = torch.tensor([[[1.0, 2.0], [15.9, 0.0], [8.0, 8.0]], [[16.0, 16.0], [4.0, 4.0], [0.0, 0.0]]])
PRESENT = torch.tensor([[True, True, True], [True, True, False]])
KEY = seeds.keys(0, "k", torch.arange(2))


def test_a_grid_marks_the_cell_of_each_centre() -> None:
    label = LabelConfig(grid=8).encode(PLACES, PRESENT, 16, KEY)
    assert label.shape == (2, 64)
    assert label[0].nonzero().flatten().tolist() == [7, 8, 36]  # row by row: y slowest
    assert label[1].nonzero().flatten().tolist() == [18, 63]  # the border belongs to the last cell


def test_a_grid_may_count() -> None:
    same = torch.tensor([[[1.0, 1.0], [1.5, 1.5]]])
    for counted, value in ((False, 1.0), (True, 2.0)):
        config = LabelConfig(grid=8, counted=counted)
        assert config.encode(same, torch.ones(1, 2, dtype=torch.bool), 16, KEY[:1])[0, 0] == value


@pytest.mark.parametrize("slots", [3, 5])
@pytest.mark.parametrize("order", ["shuffled", "fixed"])
def test_a_list_holds_every_labelled_place_once(order: str, slots: int) -> None:
    config = LabelConfig(form="list", order=order, slots=slots)
    label = config.encode(PLACES, PRESENT, 16, KEY).reshape(2, slots, 3)
    for row, places, present in zip(label, PLACES, PRESENT, strict=True):
        labelled = sorted(tuple(slot[:2].tolist()) for slot in row if slot[2] == 1)
        assert labelled == sorted(tuple(place.tolist()) for place in places[present] / 8 - 1)
        assert (row[row[:, 2] == 0] == 0).all()
    if order == "fixed":
        assert torch.equal(label[0, :3, :2], PLACES[0] / 8 - 1)
        assert label[1, 2:].abs().sum() == 0


def test_shuffled_objects_use_all_slots_evenly() -> None:
    config, key = LabelConfig(form="list", slots=6), seeds.keys(1, "k", torch.arange(3000))
    places, present = torch.rand(3000, 3, 2, generator=torch.Generator().manual_seed(0)), torch.ones(3000, 3).bool()
    filled = config.encode(places, present, 1, key).reshape(3000, 6, 3)[..., 2].mean(0)
    assert (filled - 0.5).abs().max() < 0.04
    more_places_than_slots = LabelConfig(form="list", slots=2).encode(
        places[:, :3], present & (key % 2 == 0)[:, None] & torch.tensor([True, False, True]), 1, key
    )
    assert more_places_than_slots.reshape(3000, 2, 3)[..., 2].sum(1).unique().tolist() == [0, 2]


def test_one_of_the_objects_is_labelled() -> None:
    key = seeds.keys(2, "k", torch.arange(2000))
    present = torch.tensor([True, False, True, True]).expand(2000, 4)
    labelled = LabelConfig(labelled="one").chosen(present, key)
    assert (labelled.sum(1) == 1).all()
    assert (labelled & ~present).sum() == 0
    assert (labelled.float().mean(0) - torch.tensor([1, 0, 1, 1]) / 3).abs().max() < 0.04
    assert torch.equal(LabelConfig().chosen(present, key), present)
    none = LabelConfig(labelled="one").chosen(torch.zeros(2, 4, dtype=torch.bool), key[:2])
    assert none.sum() == 0


def test_bad_input() -> None:
    with pytest.raises(UserError, match=r"label at \(17.0, 3.0\) lies outside"):
        LabelConfig().encode(torch.tensor([[[17.0, 3.0]]]), torch.ones(1, 1).bool(), 16, KEY[:1])
    with pytest.raises(UserError, match="3 labelled objects and 2 slots"):
        LabelConfig(form="list", slots=2).encode(PLACES, PRESENT, 16, KEY)

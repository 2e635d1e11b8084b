import pytest
import torch

from recombine.errors import UserError
from recombine.seeds import keys
from recombine.worlds.scenes.layout import BEHIND, RADII, RIGHT, Rules, Scene, draw_jitter, place, width

CLEVR = Rules(gap=0.25, margin=0.4)


def scenes(count: int, n: int, rules: Rules = CLEVR, seed: int = 0) -> torch.Tensor:
    return place(torch.full((n,), count), keys(seed, "data", torch.arange(n)), 12, rules)


@pytest.mark.parametrize(("count", "rules"), [(3, CLEVR), (8, CLEVR), (12, Rules(gap=0.1, margin=0.15))])
def test_every_pair_keeps_gap_and_margin(count: int, rules: Rules) -> None:
    objects = scenes(count, 40, rules).double()
    assert objects[:, :count, 0].eq(1).all()
    assert objects[:, count:].eq(0).all()
    for scene in objects[:, :count]:
        for i in range(count):
            for j in range(i):
                dx, dy = (scene[i, 1:3] - scene[j, 1:3]).tolist()
                reach = RADII[int(scene[i, 4])] + RADII[int(scene[j, 4])]
                assert (dx**2 + dy**2) ** 0.5 - reach >= rules.gap - 1e-5
                assert abs(dx * RIGHT[0] + dy * RIGHT[1]) >= rules.margin - 1e-5
                assert abs(dx * BEHIND[0] + dy * BEHIND[1]) >= rules.margin - 1e-5


def test_a_lone_object_is_anything_anywhere() -> None:
    one = scenes(1, 4000)[:, 0].double()
    assert one[:, 1:3].abs().max() < 3
    assert one[:, 1:3].mean(0).abs().max() < 0.12  # 3 / sqrt(3) / sqrt(4000) is 0.03
    assert one[:, 1:3].std(0).tolist() == pytest.approx([3 / 3**0.5] * 2, rel=0.03)
    for column, kinds in ((3, 3), (4, 2), (5, 8), (6, 2)):
        shares = torch.bincount(one[:, column].long(), minlength=kinds) / len(one)
        assert shares.tolist() == pytest.approx([1 / kinds] * kinds, abs=0.035)
    assert one[:, 7].mean() == pytest.approx(180, rel=0.05)


def test_a_scene_is_the_same_in_any_batch() -> None:
    key, count = keys(3, "data", torch.arange(30)), torch.arange(30) % 8 + 1
    together = place(count, key, 12, CLEVR)
    assert torch.equal(place(count[17:19], key[17:19], 12, CLEVR), together[17:19])
    assert torch.equal(place(count.flip(0), key.flip(0), 12, CLEVR).flip(0), together)
    assert not torch.equal(place(count, key, 12, CLEVR, attempt=1), together)


def test_a_scene_without_room_starts_again() -> None:
    rules = Rules(gap=0.25, margin=0.4, tries=1)  # one place an object: many scenes restart
    objects = scenes(3, 50, rules)
    assert objects[:, :3, 0].eq(1).all()
    first = scenes(1, 50, rules)[:, 0]
    again = (objects[:, 0] != first).any(1)  # a first object that is not the first one drawn
    assert 10 < int(again.sum()) < 45


def test_more_objects_than_fit_says_how_many_do() -> None:
    says = r"no room for 12 objects with a gap of 2 and a margin of 0\.4: [2-6] did fit"
    with pytest.raises(UserError, match=says) as caught:
        scenes(12, 3, Rules(gap=2.0, margin=0.4, restarts=5))
    assert "\n" not in str(caught.value)


def test_jitter_fills_its_range() -> None:
    jitter = draw_jitter(keys(0, "data", torch.arange(5000)), 0.5, 1.0)
    assert jitter[:, :3].abs().max() == pytest.approx(0.5, abs=0.01)
    assert jitter[:, 3:].abs().max() == pytest.approx(1.0, abs=0.01)
    assert torch.corrcoef(jitter.T).fill_diagonal_(0).abs().max() < 0.07


def test_factors_of_a_wrong_width_get_one_line() -> None:
    assert width(12) == 108
    with pytest.raises(UserError, match="a scene of up to 12 objects has 108 numbers"):
        Scene.of(torch.zeros(2, 10), 12)

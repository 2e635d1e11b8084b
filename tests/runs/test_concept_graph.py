import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import UserError
from recombine.runs.concept_graph import RunConfig
from recombine.seeds import Seeds
from recombine.settings import build, override, parse_override
from recombine.studies.concept_graphs.emergence.experiment import SMOKE
from recombine.worlds.faces import FacesWorld
from recombine.worlds.shapes import ShapesWorld


def test_the_address_survives_json_and_names_every_field() -> None:
    again = build(RunConfig, json.loads(json.dumps(SMOKE.model_dump(mode="json"))))
    assert again == SMOKE
    assert again.address == SMOKE.address
    changes: dict[str, Any] = {
        "world.position_jitter": 0.01, "split.count": 63, "network.channels": 16, "prediction": "x0",
        "schedule.steps": 400, "training.rate": 2e-3, "evaluation.points": 5, "seeds.sampling": 1,
    }  # fmt: skip
    addresses = {override(SMOKE, {key: value}).address for key, value in changes.items()} | {SMOKE.address}
    assert len(addresses) == len(changes) + 1
    assert all(len(address) == 12 for address in addresses)


def test_the_model_follows_from_its_seed_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, same = SMOKE.model().state_dict(), SMOKE.model().state_dict()
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(one[name], same[name]) for name in one)
    reseeded = SMOKE.replace(seeds=Seeds(init=1).model_dump()).model().state_dict()
    assert any(not torch.equal(one[name], reseeded[name]) for name in one)
    other_stream = SMOKE.replace(seeds=Seeds(data=1, order=1, sampling=1).model_dump()).model().state_dict()
    assert all(torch.equal(one[name], other_stream[name]) for name in one)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"split.train": []}, "trains on nothing"),
        ({"split.train": ["000", "222"]}, "no node '222'"),
        ({"split.train": ["000", "000"]}, "twice"),
        ({"split.test": ["000"]}, "trained and tested"),
        ({"split.count": 0}, "no images"),
        ({"network.multipliers": [1, 2, 4, 8, 16]}, "halved"),
        ({"evaluation.sampler.steps": 5000, "evaluation.sampler.spacing": "steps"}, "500"),
        ({"evaluation.audit.sampler.steps": 5000}, "500"),
        ({"training.betas": [2, 3]}, "betas"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says) as refusal:
        override(SMOKE, changes).check()
    assert "\n" not in str(refusal.value)
    assert refusal.value.exit_status == 2


def after(start: RunConfig, **changes: Any) -> RunConfig:
    """The same run with some fields changed, from the weights of `start`."""
    return override(start, changes).replace(start=start.model_dump())


def test_where_a_run_starts_is_part_of_what_it_is() -> None:
    child = after(SMOKE)
    assert child.start == SMOKE
    assert build(RunConfig, json.loads(json.dumps(child.model_dump(mode="json")))) == child
    elsewhere = SMOKE.replace(start=SMOKE.with_seeds(Seeds.all(1)).model_dump())
    addresses = {config.address for config in (SMOKE, child, after(child), elsewhere)}
    assert len(addresses) == 4
    assert child.replace(start=None).address == SMOKE.address


def test_seeds_reach_every_run_before_it() -> None:
    config = after(after(SMOKE))
    seeds = Seeds(data=1, init=2, order=3, sampling=4)
    changed = config.with_seeds(seeds)
    assert [run.seeds for run in changed.ancestry()] == [seeds] * 3
    assert changed.with_seeds(SMOKE.seeds) == config  # and nothing else was changed
    assert SMOKE.with_seeds(seeds) == SMOKE.replace(seeds=seeds.model_dump())


def test_a_change_reaches_every_run_before_it() -> None:
    """A run and the one it starts from stay a pair: weights that would no longer fit are of no use."""
    child = after(SMOKE, **{"split.train": ["111"], "training.images": 512})
    youngest = after(child, **{"split.train": ["110"], "training.images": 256})
    changes = {"training.images": 96, "network.channels": 4, "world.pixels": 16, "seeds.data": 3}
    changed = youngest.overridden(changes)
    assert changed.ancestry() == [SMOKE.overridden(changes), child.overridden(changes), changed]
    assert SMOKE.overridden(changes) == override(SMOKE, changes)
    for run, before in zip(changed.ancestry(), youngest.ancestry(), strict=True):
        assert isinstance(run, RunConfig)
        assert (run.training.images, run.network.channels, run.world.pixels, run.seeds.data) == (96, 4, 16, 3)
        assert isinstance(before, RunConfig)
        assert run.split == before.split  # what was not changed stays each one's own
    changed.check()
    assert youngest.overridden({}) == youngest
    with pytest.raises(UserError, match="did you mean 'training'"):
        youngest.overridden({"trainig.images": 96})


def test_a_start_that_is_taken_away_is_gone_or_refused() -> None:
    """Silently starting from what was not asked for would be the worst answer."""
    child = after(SMOKE)
    try:
        start = child.overridden({"start": None}).start
    except UserError:
        start = None  # refused: as good
    assert start is None


def test_the_eldest_comes_first() -> None:
    child = after(SMOKE, prediction="v")
    youngest = after(child, prediction="x0")
    assert SMOKE.ancestry() == [SMOKE]
    assert youngest.ancestry() == [SMOKE, child, youngest]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"network.channels": 16}, "another network: give start.network and network alike"),
        ({"prediction": "v"}, "another prediction: give start.prediction and prediction alike"),
        ({"world.pixels": 16}, "another world"),
        ({"world.conditioning": "binary"}, "another world"),
    ],
)
def test_weights_that_do_not_fit_are_refused(changes: dict[str, Any], says: str) -> None:
    for config in (after(SMOKE, **changes), after(after(SMOKE, **changes))):  # its own start, or that of its start
        with pytest.raises(UserError, match=says) as refusal:
            config.check()
        assert "\n" not in str(refusal.value)
    override(SMOKE, changes).check()  # alone it can be run


def test_a_start_that_cannot_be_run_is_refused() -> None:
    with pytest.raises(UserError, match="trains on nothing"):
        SMOKE.replace(start=override(SMOKE, {"split.train": []}).model_dump()).check()
    with pytest.raises(UserError, match=r"start\.prediction"):
        SMOKE.replace(start={**SMOKE.model_dump(), "prediction": "noises"})


def test_what_is_learned_may_change_from_one_run_to_the_next() -> None:
    changes = {
        "split.train": ["111"], "training.rate": 1e-5, "training.batch": 8, "schedule.steps": 400,
        "world.color_jitter": 0.05, "evaluation.points": 2, "seeds.init": 3,
    }  # fmt: skip
    run = after(after(SMOKE, **changes), **{"split.train": ["110"]})
    run.check()
    assert [each.split.train for each in run.ancestry()] == [SMOKE.split.train, ("111",), ("110",)]


def test_a_world_that_does_not_say_its_kind_is_of_shapes() -> None:
    given: dict[str, Any] = {"split": {"train": ["00"]}, "world": {"pixels": 16, "shapes": ["circle"]}}
    config = build(RunConfig, given)
    assert config.world == ShapesWorld(pixels=16, shapes=("circle",))
    assert config == build(RunConfig, {**given, "world": {**given["world"], "kind": "shapes"}})
    assert build(RunConfig, {**given, "world": {"kind": "faces", "pixels": 16}}).world == FacesWorld(pixels=16)
    assert build(RunConfig, {**given, "world": FacesWorld(pixels=16)}).world == FacesWorld(pixels=16)
    for wrong in ({"kind": "bumps"}, 5, None, "shapes"):
        with pytest.raises(UserError, match="world") as refusal:
            build(RunConfig, {**given, "world": wrong})
        assert "\n" not in str(refusal.value)


FACES = SMOKE.replace(world=FacesWorld(pixels=8).model_dump())


@pytest.mark.parametrize(
    ("config", "changes", "says"),
    [
        (SMOKE, {"world.pixels": 3}, "'world.pixels' = 3"),
        (SMOKE, {"world": {"pixels": 3}}, "'world.pixels' = 3"),
        (SMOKE, {"world": {"pixel": 8}}, "unknown key 'world.pixel'; did you mean 'world.pixels'?"),
        (SMOKE, {"world.shapes": ["star"]}, "'world.shapes.0' = 'star'"),
        (SMOKE, {"world.size_jitter": 0.5}, "world: the ranges of large and small overlap: lower size_jitter"),
        (FACES, {"world.pixels": 3}, "'world.pixels' = 3"),
        (FACES, {"world.partition": "training"}, "'world.partition' = 'training'"),
        (FACES, {"world": {"partitions": "test"}}, "unknown key 'world.partitions'; did you mean 'world.partition'?"),
        (FACES, {"world": {"colors": ["red"]}}, "unknown key 'world.colors'; world knows: kind, pixels, partition"),
        (SMOKE, {"schedule.beta_end": 7}, "'schedule.beta_end' = 7"),
        (SMOKE, {"evaluation.points": 0}, "'evaluation.points' = 0"),
        (SMOKE, {"start": {**SMOKE.model_dump(), "world": {"pixels": 3}}}, "'start.world.pixels' = 3"),
    ],
)
def test_a_mistake_is_named_as_a_person_writes_it(config: RunConfig, changes: dict[str, Any], says: str) -> None:
    """Never by the kind of the part, as in world.shapes.pixels."""
    with pytest.raises(UserError) as refusal:
        override(config, changes)
    assert str(refusal.value).startswith(says)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("training.batch=64", "training.batch", 64),
        ("evaluation.audit=null", "evaluation.audit", None),
        ("evaluation.audit=", "evaluation.audit", None),
        ('split.train=["000", "111"]', "split.train", ["000", "111"]),
        ("a=b=c", "a", "b=c"),
        (" a =1", "a", 1),
    ],
)
def test_overrides_are_dotted_keys_and_yaml(text: str, key: str, value: Any) -> None:
    assert parse_override(text) == (key, value)


@pytest.mark.parametrize("text", ["training.batch", "", "=5", "a=[1", "a={b: ]", "a=@x"])
def test_an_override_that_cannot_be_read_is_quoted(text: str) -> None:
    with pytest.raises(UserError) as refusal:
        parse_override(text)
    assert f"--set {text}" in str(refusal.value)


@settings(max_examples=30, deadline=None)
@given(value=st.floats(1e-6, 1e3) | st.integers(1, 10**6))
def test_a_number_in_any_notation_reaches_the_config(value: float) -> None:
    """YAML reads 1e-05 as text; the config must not."""
    key, parsed = parse_override(f"training.rate={value!r}")
    assert override(SMOKE, {key: parsed}).training.rate == value


@pytest.mark.parametrize("change", [lambda c: setattr(c, "prediction", "x0"), lambda c: setattr(c.training, "rate", 1)])
def test_a_config_is_frozen(change: Callable[[RunConfig], None]) -> None:
    with pytest.raises(Exception, match="frozen"):
        change(SMOKE)

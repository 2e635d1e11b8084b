"""Mistakes in settings become one line that names the key; equal settings have one address."""

import json
import re
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError, model_validator

from recombine.errors import UserError
from recombine.runs.concept_graph import RunConfig
from recombine.settings import Settings, build, canonical, fingerprint, override


class Leaf(Settings):
    kind: Literal["leaf"] = "leaf"
    length: float = 1.0
    width: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _check(self):
        if self.length < self.width:
            raise ValueError("length must not be below width")
        return self


class Stone(Settings):
    kind: Literal["stone"] = "stone"
    weight: float = 2.0


class Branch(Settings):
    needed: int
    item: Annotated[Leaf | Stone, Field(discriminator="kind")] = Leaf()
    extra: Leaf | None = None
    weights: dict[str, float] | None = None


class Tree(Settings):
    branch: Branch
    height: float = 3.0


TREE = Tree(branch=Branch(needed=1))
WORLD = {"pixels": 8, "position_jitter": 0.0}
RUN = {"world": WORLD, "split": {"train": ["000", "001"]}, "network": {"channels": 8, "multipliers": [1, 2]}}


def mistake(call, *args):
    with pytest.raises(UserError) as caught:
        call(*args)
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_change(data, dotted, value):
    """A deep copy of `data` with one value put at a dotted place."""
    copy = json.loads(json.dumps(data))
    place = copy
    *path, last = dotted.split(".")
    for key in path:
        place = place.setdefault(key, {})
    place[last] = value
    return copy


@pytest.mark.parametrize(
    ("kind", "data", "dotted", "hint"),
    [
        (Tree, {"branch": {"needed": 1}}, "heigth", "did you mean 'height'?"),
        (Tree, {"branch": {"needed": 1}}, "branch.neded", "did you mean 'branch.needed'?"),
        (Tree, {"branch": {"needed": 1}}, "branch.extra.lenght", "did you mean 'branch.extra.length'?"),
        (Tree, {"branch": {"needed": 1}}, "qqqq", "the top level knows: branch, height"),
        (Tree, {"branch": {"needed": 1}}, "branch.zzzz", "branch knows: needed, item, extra, weights"),
        (RunConfig, RUN, "netwrok", "did you mean 'network'?"),
        (RunConfig, RUN, "training.batc", "did you mean 'training.batch'?"),
        (RunConfig, RUN, "network.condition.entri", "did you mean 'network.condition.entry'?"),
        (RunConfig, RUN, "evaluation.audit.sampler.step", "did you mean 'evaluation.audit.sampler.steps'?"),
        (RunConfig, RUN, "world.pixel", "did you mean 'world.pixels'?"),
    ],
)
def test_unknown_key_names_the_nearest(kind, data, dotted, hint):
    build(kind, data)  # right but for the change
    assert mistake(build, kind, with_change(data, dotted, 3)) == f"unknown key '{dotted}'; {hint}"


def test_unknown_key_in_a_union_names_the_nearest_of_that_member():
    message = mistake(build, Tree, {"branch": {"needed": 1, "item": {"kind": "stone", "wieght": 1.0}}})
    assert "wieght" in message
    assert "weight'?" in message
    message = mistake(build, RunConfig, RUN | {"schedule": {"kind": "ddpm-linear", "beta_strat": 0.1}})
    assert "beta_strat" in message
    assert "beta_start'?" in message
    message = mistake(build, RunConfig, RUN | {"schedule": {"kind": "edm", "qqqq": 0.1}})
    assert "sigma_min" in message
    assert "beta_start" not in message  # of another member


def test_the_key_named_in_a_union_can_be_set():
    message = mistake(build, RunConfig, RUN | {"schedule": {"kind": "ddpm-linear", "beta_strat": 0.001}})
    (named,) = re.findall("did you mean '(.*)'", message)
    assert override(build(RunConfig, RUN), {named: 0.001}).schedule.beta_start == 0.001


@pytest.mark.parametrize(
    ("dotted", "value", "start"),
    [
        ("training.batch", "many", "'training.batch' = 'many': input should be a valid integer"),
        ("training.batch", None, "'training.batch' = None: "),
        ("training.batch", 1.5, "'training.batch' = 1.5: "),
        ("training.batch", 0, "'training.batch' = 0: input should be greater than 0"),
        ("training.decay", "cubic", "'training.decay' = 'cubic': input should be 'constant', 'linear' or 'cosine'"),
        ("training", 7, "'training' = 7: "),
        ("split.train", 5, "'split.train' = 5: "),
        ("schedule", {"kind": "edn"}, "'schedule' = {'kind': 'edn'}: input tag 'edn'"),
    ],
)
def test_wrong_type_names_key_and_value(dotted, value, start):
    assert mistake(build, RunConfig, with_change(RUN, dotted, value)).startswith(start)


def test_missing_key():
    assert mistake(build, Tree, {"branch": {}}) == "missing key 'branch.needed'"
    assert mistake(build, RunConfig, {"world": WORLD}) == "missing key 'split'"


def test_own_checks_speak_in_their_own_words():
    assert mistake(build, Leaf, {"length": 1, "width": 2}) == "length must not be below width"
    message = mistake(build, Branch, {"needed": 1, "extra": {"length": 1, "width": 2}})
    assert message == "extra: length must not be below width"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "nan"])
def test_numbers_must_be_finite(value):
    assert "'height' = " in mistake(build, Tree, {"branch": {"needed": 1}, "height": value})
    assert "finite" in mistake(build, RunConfig, with_change(RUN, "training.rate", value))
    assert "finite" in mistake(override, TREE, {"branch.weights": {"a": value}})


def test_settings_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        TREE.height = 4.0
    with pytest.raises(ValidationError, match="frozen"):
        del TREE.height
    assert TREE.height == 3.0
    assert hash(TREE) == hash(Tree(branch=Branch(needed=1)))


def test_replace_validates_and_leaves_the_first_alone():
    assert TREE.replace(height=4).height == 4.0
    assert TREE.replace(height=4).branch == TREE.branch
    assert TREE.height == 3.0
    assert mistake(lambda: TREE.replace(hight=4)) == "unknown key 'hight'; did you mean 'height'?"
    assert "'height' = 'tall'" in mistake(lambda: TREE.replace(height="tall"))


def test_override_by_dotted_path():
    config = build(RunConfig, RUN)
    changed = override(config, {"training.batch": 64, "network.condition.hidden": 16, "prediction": "v"})
    assert (changed.training.batch, changed.network.condition.hidden, changed.prediction) == (64, 16, "v")
    assert changed.network.multipliers == (1, 2)
    assert override(changed, {"training.batch": 128, "network.condition.hidden": 128, "prediction": "noise"}) == config
    assert override(config, {}) == config
    assert config.training.batch == 128


@pytest.mark.parametrize(
    ("dotted", "hint"),
    [
        ("trainig.batch", "did you mean 'training'?"),
        ("training.batsh", "did you mean 'training.batch'?"),
        ("schedule.beta_strat", "did you mean 'schedule.beta_start'?"),
        ("network.condition.hiden", "did you mean 'network.condition.hidden'?"),
        ("network.kondition.hidden", "did you mean 'network.condition'?"),
        ("training.batch.size", "did you mean 'training.batch'?"),
        ("qqqqq", "the top level knows: seeds, world, split"),
        ("", "the top level knows: seeds, world, split"),
    ],
)
def test_override_of_an_unknown_path(dotted, hint):
    assert mistake(override, build(RunConfig, RUN), {dotted: 1}).startswith(f"unknown key '{dotted}'; {hint}")


def test_override_is_validated():
    config = build(RunConfig, RUN)
    assert mistake(override, config, {"training.batch": "x"}).startswith("'training.batch' = 'x': ")
    assert "beta_start 0.5 must be below beta_end 0.02" in mistake(override, config, {"schedule.beta_start": 0.5})


def test_override_of_a_section_by_a_dict():
    config = build(RunConfig, RUN)
    merged = override(config, {"training.rate": 0.1, "training": {"batch": 64}}).training
    assert (merged.rate, merged.batch) == (0.1, 64)  # what the dict does not name stays
    other = override(config, {"schedule": {"kind": "edm", "rho": 5.0}}).schedule
    assert (other.kind, other.rho) == ("edm", 5.0)
    kept = override(config, {"schedule.steps": 50, "schedule": {"kind": "ddpm-linear", "beta_end": 0.5}}).schedule
    assert (kept.steps, kept.beta_end) == (50, 0.5)
    assert mistake(override, config, {"schedule": {"kind": "edm", "beta_end": 0.5}}).startswith("unknown key ")


def test_override_of_a_section_with_a_kind_by_a_dict_without():
    config = build(RunConfig, RUN)
    assert override(config, {"network": {"channels": 16}}).network.multipliers == (1, 2)


def test_fingerprint_does_not_depend_on_key_order():
    backwards = {name: dict(reversed(part.items())) for name, part in reversed(RUN.items())}
    assert list(backwards) != list(RUN)
    assert fingerprint(build(RunConfig, backwards)) == fingerprint(build(RunConfig, RUN))
    weights = {"a": 1.0, "b": 2.0}
    one, other = (Branch(needed=1, weights=w) for w in (weights, dict(reversed(weights.items()))))
    assert fingerprint(one) == fingerprint(other)


def test_fingerprint_tells_values_apart():
    config = build(RunConfig, RUN)
    changes = [
        {},
        {"training.rate": 3.0000001e-4},
        {"seeds.data": 1},
        {"seeds.init": 1},
        {"schedule": {"kind": "ddpm-cosine", "steps": 500}},
        {"split.train": ["001", "000"]},
        {"world.pixels": 16},
    ]
    assert len({fingerprint(override(config, change)) for change in changes}) == len(changes)


def test_fingerprint_is_that_of_the_json_text():
    assert canonical(Leaf()) == '{"kind":"leaf","length":1.0,"width":1}'
    # sha256 of that text, computed elsewhere: the address must be the same on any machine
    assert fingerprint(Leaf(), 16) == "3f0225e32a31151e"
    assert fingerprint(Leaf()) == fingerprint(Leaf(), 64)[:12]
    assert fingerprint(build(Leaf, {"length": 1, "width": 1.0})) == fingerprint(Leaf())  # 1 and 1.0 are one length


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 1e300), st.integers(1, 2**40), st.floats(allow_nan=False, allow_infinity=False))
def test_canonical_json_builds_the_same_settings(length, width, height):
    tree = Tree(branch=Branch(needed=width, extra=Leaf(length=length)), height=height)
    again = build(Tree, json.loads(canonical(tree)))
    assert again == tree
    assert fingerprint(again) == fingerprint(tree)

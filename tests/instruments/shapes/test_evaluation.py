"""Evaluation on denoisers whose answer is known: right, blank, swapped, doubled, broken and exact."""

import json
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule, LinearSchedule
from recombine.errors import UserError
from recombine.instruments.shapes import evaluation as module
from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.instruments.shapes.classifier import ClassifierConfig
from recombine.instruments.shapes.evaluation import ConceptEvaluation, Sampling
from recombine.lab.table import make_table
from recombine.training.replica import TrainingConfig
from recombine.worlds.faces import FacesWorld
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import real_images
from support.tables import short

WORLD = ShapesWorld(pixels=16, position_jitter=0.05)
CONFIG = ConceptEvaluation(images_per_node=3, calibration_images=20, sampler=SamplerConfig(steps=4))
TOOLS = CONFIG.tools(WORLD, 0)
NODES = WORLD.nodes
DIGITS = WORLD.digits(NODES)
PROTOTYPES = WORLD.prototype(DIGITS)
PROMPTS = WORLD.condition(PROTOTYPES)  # [8, K]


def run(denoise, config=CONFIG, sampler=None, seed=0, schedule=None, tools=TOOLS):
    how = Sampling(denoise, sampler or config.sampler, schedule or LinearSchedule(), WORLD, seed, torch.device("cpu"))
    return config.evaluate(how, tools)


def drawing(images):
    """A denoiser that answers one fixed image for each prompted node, whatever it is shown."""

    def denoise(x, sigma, condition):
        assert sigma.shape == x.shape[:1]
        gaps = torch.cdist(condition, PROMPTS)
        assert gaps.amin(1).max() < 1e-3  # every prompt is that of a prototype
        return images[gaps.argmin(1)]

    return denoise


def shrinking(x, sigma, condition):
    """The exact denoiser of standard normal pixels: its images are a function of their noise alone."""
    return x / (1 + sigma[:, None, None, None] ** 2)


def values(rows, instrument):
    found = {row["node"]: row["value"] for row in rows if short(row) == instrument}
    assert tuple(found) == NODES
    return list(found.values())


def test_a_denoiser_that_draws_the_prototype_is_right_everywhere():
    truth = WORLD.render(PROTOTYPES)
    rows, images = run(drawing(truth))
    assert images.shape == (8, 3, *WORLD.image_shape)
    torch.testing.assert_close(images, truth[:, None].expand_as(images), rtol=0, atol=1e-5)
    for name in ("product", "shape", "color", "size", "additive", "marginals"):
        assert values(rows, f"reader.{name}") == [1.0] * 8
        assert values(rows, f"probe.{name}") == [1.0] * 8
    assert values(rows, "reader.none") == values(rows, "reader.several") == [0.0] * 8
    for place, (concept, names) in enumerate(WORLD.concepts.items()):
        for digit, name in enumerate(names):
            shown = [float(node[place] == str(digit)) for node in NODES]
            assert values(rows, f"reader.{concept}={name}") == shown
    for kind in ("none", "several", "other"):
        assert values(rows, f"probe.product.{kind}") == [0.0] * 8


def test_a_blank_canvas_is_nothing_to_the_reader_but_something_to_the_probes():
    rows, _ = run(drawing(WORLD.blank().expand(8, -1, -1, -1)))
    assert values(rows, "reader.none") == [1.0] * 8
    for name in ("product", "shape", "color", "size", "additive", "marginals", "several"):
        assert values(rows, f"reader.{name}") == [0.0] * 8
    # A probe must answer one value of each concept, so the same canvas passes for exactly one of the nodes.
    assert sorted(values(rows, "probe.product")) == [0.0] * 7 + [1.0]
    assert values(rows, "probe.product.none") == values(rows, "probe.product")
    assert values(rows, "probe.product.several") == values(rows, "probe.product.other") == [0.0] * 8
    assert values(rows, "reader.shape=circle") == values(rows, "reader.size=small") == [0.0] * 8


@pytest.mark.parametrize("concept", [0, 1, 2])
def test_one_wrong_concept_is_that_concept(concept):
    swapped = DIGITS.clone()
    swapped[:, concept] = 1 - swapped[:, concept]
    rows, _ = run(drawing(WORLD.render(WORLD.prototype(swapped))))
    for place, name in enumerate(WORLD.concepts):
        assert values(rows, f"reader.{name}") == [float(place != concept)] * 8
        assert values(rows, f"probe.{name}") == [float(place != concept)] * 8
    assert values(rows, "reader.product") == values(rows, "reader.marginals") == [0.0] * 8
    assert values(rows, "reader.additive") == pytest.approx([2 / 3] * 8)
    blue = [float(digits[1] == 1) for digits in swapped.tolist()]
    assert values(rows, "reader.color=blue") == blue  # what was drawn, not what was asked for


def test_two_objects_are_several():
    """Small ones side by side: neither is read, though each alone would be right."""
    left, right = PROTOTYPES.clone(), PROTOTYPES.clone()
    left[:, 6], right[:, 6] = -0.6, 0.6
    both = torch.minimum(WORLD.render(left), WORLD.render(right))  # ink on white
    rows, _ = run(drawing(both))
    small = [node[2] == "1" for node in NODES]
    several, right_ones = values(rows, "reader.several"), values(rows, "reader.product")
    assert [several[i] for i in range(8) if small[i]] == [1.0] * 4
    assert [right_ones[i] for i in range(8) if small[i]] == [0.0] * 4
    passed, as_several = values(rows, "probe.product"), values(rows, "probe.product.several")
    assert [as_several[i] for i in range(8) if small[i]] == [passed[i] for i in range(8) if small[i]]


def test_nan_is_never_right():
    rows, images = run(lambda x, sigma, condition: torch.full_like(x, float("nan")))
    assert images.isnan().all()
    assert values(rows, "reader.none") == [1.0] * 8
    assert values(rows, "reader.product") == values(rows, "probe.product") == [0.0] * 8
    assert values(rows, "probe.product.none") == [0.0] * 8
    json.dumps(rows, allow_nan=False)  # every value is a number


def test_fractions_are_of_a_nodes_own_images():
    """Half of the images of the first four nodes are blank; the others' are right."""
    truth, config = WORLD.render(PROTOTYPES), CONFIG.replace(images_per_node=4)

    def denoise(x, sigma, condition):
        answer = drawing(truth)(x, sigma, condition)
        answer[:16:2] = 1.0
        return answer

    rows, _ = run(denoise, config)
    assert values(rows, "reader.product") == values(rows, "reader.additive") == [0.5] * 4 + [1.0] * 4
    assert values(rows, "reader.marginals") == [0.125] * 4 + [1.0] * 4
    assert values(rows, "reader.none") == [0.5] * 4 + [0.0] * 4


def test_the_exact_denoiser_of_real_images_is_right():
    """The posterior mean over real images of every node: what a network that learned everything would draw."""
    images, _ = real_images(WORLD, NODES, 10, 3, "evaluation-test")
    exact = EmpiricalDenoiser(images, PROMPTS.repeat_interleave(10, 0))
    rows, drawn = run(exact.denoise, sampler=SamplerConfig(steps=12))
    assert values(rows, "reader.product") == [1.0] * 8
    nearest = torch.cdist(drawn.flatten(2).flatten(0, 1), images.flatten(1))  # [24, 80]
    assert nearest.amin(1).max() < 0.05
    assert (nearest.argmin(1) // 10).tolist() == torch.arange(8).repeat_interleave(3).tolist()
    assert len(nearest.argmin(1).unique()) > 12  # not the same one again and again


def test_rows_are_tidy():
    rows, _ = run(drawing(WORLD.render(PROTOTYPES)))
    assert len(make_table([{**row, "arm": "a", "seed": 0, "images_seen": 0} for row in rows], COLUMNS)) == len(rows)
    assert len({(row["node"], short(row)) for row in rows}) == len(rows)
    found = {short(row) for row in rows}
    parts = ("product", "shape", "color", "size", "additive", "marginals")
    assert found == {
        *(f"{who}.{what}" for who in ("reader", "probe") for what in parts),
        *(f"reader.{concept}={name}" for concept, names in WORLD.concepts.items() for name in names),
        "reader.none", "reader.several", "probe.probability",
        "probe.product.none", "probe.product.several", "probe.product.other",
    }  # fmt: skip
    assert len(rows) == 8 * len(found)
    json.dumps(rows, allow_nan=False)


@pytest.mark.parametrize("method", ["multistep", "ancestral"])
def test_an_image_is_a_function_of_its_key(method):
    sampler = SamplerConfig(method=method, steps=4)
    few = run(shrinking, CONFIG.replace(images_per_node=2), sampler)[1].flatten(0, 1)
    assert len(few.flatten(1).unique(dim=0)) == len(few)
    assert torch.equal(run(shrinking, CONFIG.replace(images_per_node=2), sampler)[1].flatten(0, 1), few)
    other = run(shrinking, CONFIG.replace(images_per_node=2), sampler, seed=1)[1].flatten(0, 1)
    assert not torch.isclose(other, few).flatten(1).all(1).any()


def test_a_nodes_images_stay_when_more_are_asked_for():
    few, many = (run(shrinking, CONFIG.replace(images_per_node=count))[1] for count in (2, 5))
    assert torch.equal(few, many[:, :2])


def test_images_are_clipped():
    _, images = run(lambda x, sigma, condition: torch.full_like(x, 7.0), schedule=EDMSchedule())
    assert (images == 1).all()


def test_tools_say_how_right_they_are_on_real_images():
    def calibration(instrument):
        found = [row for row in TOOLS.calibration if short(row) == instrument]
        return {row.get("node") or row["canvas"]: row["value"] for row in found}

    assert set(NODES) == set(calibration("calibration.reader.product"))
    assert min(calibration("calibration.reader.product").values()) >= 0.95
    for concept in WORLD.concepts:
        assert min(calibration(f"calibration.probe.{concept}").values()) >= 0.9
    assert calibration("calibration.reader.none")["blank"] == 1.0
    assert TOOLS.probes.concepts == WORLD.concepts
    module._tools.cache_clear()
    assert CONFIG.tools(WORLD, 0) is not TOOLS
    assert CONFIG.tools(WORLD, 0).calibration == TOOLS.calibration
    assert CONFIG.tools(WORLD, 1).calibration != TOOLS.calibration


JUDGED = CONFIG.replace(classifier=ClassifierConfig(steps=120, batch=16).model_dump(), calibration_images=60)
VALUES = [(place, concept, digit, name) for place, (concept, names) in enumerate(WORLD.concepts.items())
          for digit, name in enumerate(names)]  # fmt: skip


@pytest.fixture(scope="module")
def judged():
    """Tools with a classifier as a second judge."""
    return JUDGED.tools(WORLD, 0)


def judge(denoise, tools):
    return run(denoise, JUDGED, tools=tools)[0]


def fresh_images():
    """A real image of every node that no judge was trained on."""
    return real_images(WORLD, NODES, 1, 5, "evaluation-fresh")[0]


@pytest.mark.parametrize("images", [WORLD.render(PROTOTYPES), fresh_images()], ids=["prototypes", "real images"])
def test_the_classifier_is_right_where_everything_is_drawn_right(judged, images):
    rows = judge(drawing(images), judged)
    for name in ("product", "shape", "color", "size", "additive", "marginals"):
        assert values(rows, f"classifier.{name}") == [1.0] * 8
    assert min(values(rows, "classifier.probability")) > 0.5
    for place, concept, digit, name in VALUES:
        chances = values(rows, f"classifier.{concept}={name}")
        assert [chance > 0.5 for chance in chances] == [node[place] == str(digit) for node in NODES]
    for concept, names in WORLD.concepts.items():
        totals = [sum(each) for each in zip(*(values(rows, f"classifier.{concept}={n}") for n in names), strict=True)]
        assert totals == pytest.approx([1.0] * 8)


def test_the_classifier_says_what_was_drawn_not_what_was_asked_for(judged):
    swapped = DIGITS.clone()
    swapped[:, 1] = 1 - swapped[:, 1]
    rows = judge(drawing(WORLD.render(WORLD.prototype(swapped))), judged)
    assert values(rows, "classifier.color") == values(rows, "classifier.product") == [0.0] * 8
    assert values(rows, "classifier.shape") == values(rows, "classifier.size") == [1.0] * 8
    blue = [digits[1] == 1 for digits in swapped.tolist()]
    assert [chance > 0.5 for chance in values(rows, "classifier.color=blue")] == blue
    rows = judge(lambda x, sigma, condition: torch.full_like(x, float("nan")), judged)
    assert values(rows, "classifier.product") == values(rows, "classifier.color=blue") == [0.0] * 8
    json.dumps(rows, allow_nan=False)


def test_a_second_judge_changes_nothing_that_the_others_say(judged):
    denoise = drawing(fresh_images())
    plain, rows = run(denoise, JUDGED.replace(classifier=None))[0], judge(denoise, judged)
    others = [row for row in rows if not row["instrument"].startswith("classifier.")]
    # The linear probes were trained on more images here than in TOOLS; the reader is the same everywhere.
    assert [short(row) for row in others] == [short(row) for row in plain]
    by_reader = [row for row in others if row["instrument"].startswith("reader.")]
    assert by_reader == [row for row in plain if row["instrument"].startswith("reader.")]
    added = {short(row) for row in rows} - {short(row) for row in others}
    parts = ("product", "shape", "color", "size", "additive", "marginals", "probability")
    assert added == {f"classifier.{part}" for part in (*parts, *(f"{c}={n}" for _, c, _, n in VALUES))}


def test_the_classifier_is_checked_on_real_images(judged):
    rows = [row for row in judged.calibration if row["instrument"].startswith("calibration.classifier.")]
    real = [row["value"] for row in rows if row.get("node") in NODES]
    assert len(real) == 8 * 3
    assert sum(real) / len(real) > 0.98
    assert {row["canvas"] for row in rows if "canvas" in row} == {"blank", "noise", "mean"}
    assert [row for row in judged.calibration if row not in rows] == CONFIG.replace(calibration_images=60).tools(
        WORLD, 0
    ).calibration
    assert TOOLS.classifier is None


def test_runs_with_equal_settings_share_their_tools(judged):
    """Whatever else their evaluation does; what makes other tools makes new ones."""
    world = ShapesWorld(pixels=16, position_jitter=0.05)
    assert JUDGED.replace(points=3, images_per_node=9).tools(world, 0, "cpu") is judged
    small = ShapesWorld(pixels=8, position_jitter=0.0, shapes=("circle",))
    few = ConceptEvaluation(calibration_images=2, classifier=ClassifierConfig(steps=1, batch=2))
    same = few.tools(small, 0)
    others = [
        few.tools(small, 1),
        few.tools(small.replace(color_jitter=0.1), 0),
        few.replace(calibration_images=3).tools(small, 0),
        few.replace(classifier=ClassifierConfig(steps=2, batch=2).model_dump()).tools(small, 0),
        few.replace(classifier=None).tools(small, 0),
    ]
    assert few.tools(small, 0) is same
    assert len({id(tools) for tools in (same, *others)}) == 6


def test_faces_without_a_classifier_are_refused_in_one_line(monkeypatch):
    """Before any image is looked for; what the line says to do is what can be done."""
    monkeypatch.setenv("RECOMBINE_CELEBA", "nowhere")
    with pytest.raises(UserError, match="need a classifier to be judged") as refusal:
        ConceptEvaluation().tools(FacesWorld(), 0)
    assert "\n" not in str(refusal.value)
    with pytest.raises(UserError, match="CelebA is not complete"):
        JUDGED.tools(FacesWorld(), 0)


GRIDS = st.builds(
    lambda images, batch, points, first, spacing: (
        TrainingConfig(images=images, batch=batch),
        ConceptEvaluation(points=points, first=first, spacing=spacing),
    ),
    st.integers(1, 10**6),
    st.integers(1, 512),
    st.integers(2, 60),
    st.integers(1, 10**5),
    st.sampled_from(["log", "linear"]),
)


@settings(max_examples=100, deadline=None)
@given(GRIDS)
def test_milestones_ascend_in_whole_batches_to_the_end(grid):
    training, evaluation = grid
    milestones = evaluation.milestones(training)
    assert milestones[-1] == training.total
    assert all(type(m) is int and m >= training.batch and m % training.batch == 0 for m in milestones)
    assert all(earlier < later for earlier, later in pairwise(milestones))
    assert len(milestones) <= evaluation.points
    assert abs(milestones[0] - min(evaluation.first, training.total)) <= training.batch


@settings(max_examples=60, deadline=None)
@given(GRIDS, st.integers(1, 80))
def test_chosen_milestones(grid, points):
    training, evaluation = grid
    milestones = evaluation.milestones(training)
    chosen = evaluation.chosen(training, points)
    assert chosen <= set(milestones)
    assert training.total in chosen
    assert len(chosen) == min(points, len(milestones))
    places = sorted(milestones.index(m) for m in chosen)
    gaps = [later - earlier for earlier, later in pairwise(places)]
    assert not gaps or max(gaps) - min(gaps) <= 1  # evenly spread
    assert evaluation.chosen(training, 0) == set()


def test_milestones_that_are_known():
    training = TrainingConfig(images=1000, batch=10)
    linear = ConceptEvaluation(points=4, first=100, spacing="linear")
    assert linear.milestones(training) == (100, 400, 700, 1000)
    assert ConceptEvaluation(points=3, first=10).milestones(training) == (10, 100, 1000)
    assert ConceptEvaluation(points=3, first=5000).milestones(training) == (1000,)
    assert ConceptEvaluation(points=1, first=10).milestones(training)[-1] == 1000
    assert linear.chosen(training, 2) == {100, 1000}
    assert linear.chosen(training, 1) == {1000}


def test_one_point_is_the_end_of_training():
    assert ConceptEvaluation(points=1, first=100).milestones(TrainingConfig(images=1000, batch=10)) == (1000,)

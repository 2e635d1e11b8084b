"""The patch network: nothing further than its fields reaches a pixel."""

import pytest
import torch

from recombine import seeds
from recombine.denoisers.configs import ConditionConfig, FoldedConfig, LocalConfig, RadiiAbove, UNetConfig
from recombine.denoisers.contract import at_pixels
from recombine.denoisers.local import LocalNetwork
from recombine.denoisers.network import NetworkDenoiser
from recombine.diffusion.schedules import EDMSchedule
from recombine.errors import UserError
from recombine.settings import override
from recombine.training.replica import batch_loss
from recombine.worlds.scenes.labels import LabelConfig

GRID, PIXELS = 8, 16
INNER = UNetConfig(channels=8, multipliers=(1, 2), attention=(1,), condition=ConditionConfig(entry="add", where="all"))
GRID_LABELS = LabelConfig(grid=GRID)
LIST_LABELS = LabelConfig(form="list", grid=GRID, slots=3)


def network(labels: LabelConfig = GRID_LABELS, **changes: object) -> NetworkDenoiser:
    config = LocalConfig(inner=INNER).replace(**{"radius": 1, **changes})
    with seeds.torch_seeded(0):
        net = LocalNetwork(config, (3, PIXELS, PIXELS), labels)
    return NetworkDenoiser(net, "edm").eval()


def noisy(n: int) -> torch.Tensor:
    return seeds.normal(seeds.keys(1, "x", torch.arange(n)), (3, PIXELS, PIXELS))


def cell_of(index: torch.Tensor) -> torch.Tensor:
    return index // (PIXELS // GRID)


def test_gradient_outside_of_the_patch_is_exactly_zero() -> None:
    model, x = network(), noisy(1).requires_grad_()
    answer = model.denoise(x, torch.tensor([0.7]), torch.eye(GRID**2)[9:10])
    (slope,) = torch.autograd.grad(answer[0, :, 6, 4].sum(), x)
    rows, columns = (cell_of(torch.arange(PIXELS)) - cell for cell in (3, 2))
    inside = (rows.abs()[:, None] <= 1) & (columns.abs()[None] <= 1)
    assert (slope[0, :, ~inside] == 0).all()
    assert (slope[0, :, inside] != 0).float().mean() > 0.9


@pytest.mark.parametrize("labels", [GRID_LABELS, LIST_LABELS])
def test_a_label_acts_within_its_field_only(labels: LabelConfig) -> None:
    model, x, key = network(labels, label_radius=2), noisy(1), seeds.keys(0, "k", torch.arange(1))
    places = torch.tensor([[[3.0, 5.0], [13.0, 13.0]]])  # cells (1, 2) and (6, 6)
    marked = [labels.encode(places, torch.tensor([[True, second]]), PIXELS, key) for second in (False, True)]
    with torch.no_grad():
        change = (
            (model.denoise(x, torch.tensor([0.7]), marked[1]) - model.denoise(x, torch.tensor([0.7]), marked[0]))
            .abs()
            .amax((0, 1))
        )
    away = (cell_of(torch.arange(PIXELS)) - 6).abs()
    near = torch.maximum(away[:, None], away[None]) <= 2
    assert (change[~near] == 0).all()
    assert (change[near] > 0).all()


@pytest.mark.parametrize("folded", [False, True])
def test_labels_as_a_channel_act_within_the_patch_and_at_their_place(folded: bool) -> None:
    plain = override(INNER, {"condition.entry": "spatial", "multipliers": (1,), "attention": ()})
    maps = (FoldedConfig(fold=2, inner=plain) if folded else plain).model_dump()
    model, x, sigma = network(inner=maps, radius=2), noisy(1), torch.tensor([0.7])
    nothing = torch.zeros(1, GRID**2)
    marked = nothing.clone()
    marked[0, 6 * GRID + 3] = 1
    with torch.no_grad():
        change = (model.denoise(x, sigma, marked) - model.denoise(x, sigma, nothing)).abs().amax((0, 1))
    rows, columns = ((cell_of(torch.arange(PIXELS)) - cell).abs() for cell in (6, 3))
    near = torch.maximum(rows[:, None], columns[None]) <= 2
    assert (change[~near] == 0).all()
    assert (change[near] > 0).all()
    net = model.network
    assert isinstance(net, LocalNetwork)
    window = net._windows(marked, sigma.log() / 4)[0, 5 * GRID + 4].reshape(-1, 5, 5)  # of the cell in row 5, column 4
    assert window[0].nonzero().tolist() == [[3, 1]]
    assert (window[1:] == window[1:, :1, :1]).all()  # where the patch is: the same at each of its cells
    for broken, complaint in (({"label_radius": 1}, "as far as its pixels"), ({}, "no place in an image")):
        with pytest.raises(UserError, match=complaint):
            network(GRID_LABELS if broken else LIST_LABELS, inner=maps, radius=2, **broken)


def test_every_cell_is_the_middle_of_its_own_patch() -> None:
    model, x, sigma = network(), noisy(2), torch.tensor([0.5, 3.0])
    label = torch.zeros(2, GRID**2)
    label[0, 10], label[1, 40] = 1, 1
    net = model.network
    assert isinstance(net, LocalNetwork)
    with torch.no_grad():
        whole = model.predict(x, sigma, label)
        scaled = model.scales(sigma[:, None, None, None])[0] * x
        cells = torch.tensor([[11, 0], [39, 63]])
        marked = net._windows(label, sigma.log() / 4).gather(1, cells[..., None].expand(-1, -1, 9 + 32))
        alone = net.piece(net._cut(scaled, cells), sigma.log().repeat_interleave(2) / 4, marked.flatten(0, 1))
    for piece, (image, cell) in zip(alone, [(0, 11), (0, 0), (1, 39), (1, 63)], strict=True):
        row, column = 2 * (cell // GRID), 2 * (cell % GRID)
        assert torch.allclose(piece[:, 2:4, 2:4], whole[image, :, row : row + 2, column : column + 2], atol=1e-5)


def test_training_draws_a_patch_with_a_label_and_one_without() -> None:
    net = network().network
    assert isinstance(net, LocalNetwork)
    x, key = noisy(64), seeds.keys(2, "k", torch.arange(64))
    label = torch.nn.functional.one_hot(seeds.bits(key, 1)[:, 0] % GRID**2, GRID**2).float()
    part = net.pieces(x, x, torch.ones(64), label, key)
    held = part.condition[:, :9].sum(1).reshape(64, 2)
    assert (held[:, 0] == 1).all()
    assert (held[:, 1] == 0).all()
    assert part.x0.shape == (128, 3, 6, 6)
    places = {tuple(row) for row in part.condition[:, 9:].reshape(128, -1).tolist()}
    assert len(places) > 40  # all over the image


@pytest.mark.parametrize("labels", [GRID_LABELS, LIST_LABELS])
@pytest.mark.parametrize("judged", ["patch", "cell"])
def test_every_weight_learns(labels: LabelConfig, judged: str) -> None:
    model, key = network(labels, judged=judged).train(), seeds.keys(3, "k", torch.arange(16))
    places = 16 * seeds.uniform(key, (2, 2))
    label = labels.encode(places, torch.ones(16, 2, dtype=torch.bool), PIXELS, key)
    loss = batch_loss(model, noisy(16).tanh(), label, key, EDMSchedule().drawer("cpu"), "simple")
    torch.autograd.backward(loss)
    assert torch.isfinite(loss)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_fields_follow_the_noise_level() -> None:
    model = network(radius=2, by_noise=(RadiiAbove(above=1.0, radius=0, label_radius=1).model_dump(),))
    for sigma, radius in ((0.5, 2), (2.0, 0)):
        x = noisy(1).requires_grad_()
        answer = model.denoise(x, torch.tensor([sigma]), torch.zeros(1, GRID**2))
        (slope,) = torch.autograd.grad(answer[0, :, 8, 8].sum(), x)
        away = (cell_of(torch.arange(PIXELS)) - 4).abs()
        inside = torch.maximum(away[:, None], away[None]) <= radius
        assert (slope[0, :, ~inside] == 0).all()
        assert (slope[0, :, inside] != 0).any()


def test_bad_input() -> None:
    with pytest.raises(UserError, match="no grid of 7 x 7"):
        LocalNetwork(LocalConfig(inner=INNER), (3, 16, 16), LabelConfig(grid=7))
    with pytest.raises(UserError, match="give it one"):
        network().denoise(noisy(1), torch.ones(1))
    with pytest.raises(UserError, match="radii above"):
        LocalConfig(inner=INNER).replace(by_noise=({"above": 1.0, "radius": 3, "label_radius": 1},))


@pytest.mark.parametrize("labels", [GRID_LABELS, LIST_LABELS])
def test_labels_of_a_window_can_be_scaled_and_the_position_stays(labels: LabelConfig) -> None:
    """By the square root of their number: a single label then has mean square 1, as EDM2's classes do."""
    config, marked = LocalConfig(inner=INNER, radius=1), torch.ones(1, labels.width)
    networks = (LocalNetwork(config, (3, PIXELS, PIXELS), labels, scaled=how) for how in (False, True))
    plain, scaled = (each._windows(marked, torch.zeros(1)) for each in networks)
    width = 9 if labels.form == "grid" else labels.width
    torch.testing.assert_close(scaled[..., :width], plain[..., :width] * width**0.5)
    torch.testing.assert_close(scaled[..., width:], plain[..., width:])


@pytest.mark.parametrize("labels", [GRID_LABELS, LIST_LABELS])
@pytest.mark.parametrize(
    "changes", [{}, {"label_radius": 2}, {"by_noise": [RadiiAbove(above=0.5, radius=0, label_radius=0)]}]
)
def test_at_pixels_it_says_what_it_says_everywhere(labels: LabelConfig, changes: dict[str, object]) -> None:
    """Two pixels of one cell, one in a corner; answers and slopes, to pixels and to labels."""
    model, x, key = network(labels, **changes), noisy(2), seeds.keys(0, "k", torch.arange(2))
    places = torch.tensor([[[3.0, 5.0], [13.0, 13.0]], [[8.0, 9.0], [1.0, 1.0]]])
    marked = labels.encode(places, torch.ones(2, 2, dtype=torch.bool), PIXELS, key)
    pixels = torch.tensor([[[0, 0], [4, 5], [5, 4], [15, 9]], [[9, 8], [2, 15], [7, 7], [0, 1]]])
    sigma = torch.tensor([0.3, 2.0])
    given = [x.clone().requires_grad_() for _ in range(2)], [marked.clone().requires_grad_() for _ in range(2)]
    (one, other), (label, other_label) = given
    whole = at_pixels(model.denoise(one, sigma, label), pixels)  # [2, 4, 3]
    some = model.denoise_at(pixels, other, sigma, other_label)
    assert torch.allclose(whole, some, atol=1e-6)
    weight = noisy(2)[:, :, 0, :4].transpose(1, 2)
    slopes = torch.autograd.grad((whole * weight).sum(), (one, label))
    others = torch.autograd.grad((some * weight).sum(), (other, other_label))
    for slope, again in zip(slopes, others, strict=True):
        assert slope.abs().max() > 0
        assert torch.allclose(slope, again, atol=1e-6)


def test_at_pixels_only_their_cells_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = network(), list[int]()
    piece = LocalNetwork.piece
    monkeypatch.setattr(
        LocalNetwork, "piece", lambda self, patches, *rest: asked.append(len(patches)) or piece(self, patches, *rest)
    )
    model.denoise_at(torch.tensor([[[0, 0], [4, 5]]]), noisy(1), torch.tensor([0.7]), torch.zeros(1, GRID**2))
    assert asked == [2]
    with pytest.raises(UserError, match="give it one"):
        model.denoise_at(torch.tensor([[[0, 0]]]), noisy(1), torch.tensor([0.7]))

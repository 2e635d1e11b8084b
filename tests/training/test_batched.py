"""Many small nets at once do what one net does alone, and what autograd, torch.func and the closed form say."""

import pytest
import torch
from benchmarks.batched_networks import benchmark
from torch.func import functional_call, jacrev

from recombine.errors import RunFailed, UserError
from recombine.settings import build
from recombine.training import batched
from recombine.training.batched import DescentConfig, losses, train
from recombine.training.batched_networks import NetConfig, answers, gradients, jacobians, make_batch, start

D = 3
PROBES = torch.tensor([[1.0, 2.0, 0.5], [1.0, 0.0, 0.0]])
SEEDS = [3, 14, 15, 92]
NETS = [
    NetConfig(layers=layers, width=5, bias=bias, activation=activation)
    for layers in (1, 2, 4)
    for bias in (True, False)
    for activation in ("linear", "relu")
]


def clusters(count=40, nets=None, seed=0):
    """Points around 0, e_1 and 2 e_2, in turn.  # [nets, count, 3] or [count, 3]"""
    generator = torch.Generator().manual_seed(seed)
    means = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]).repeat(count, 1)[:count]
    shape = (count, D) if nets is None else (nets, count, D)
    return means.double() + 0.3 * torch.randn(shape, generator=generator, dtype=torch.float64)


def as_torch(net, weights, which):
    """One of the nets as an ordinary torch module."""
    layers = []
    for k, weight in enumerate(weights):
        out = weight.shape[1] - (net.bias and k < net.layers - 1)
        inside = weight.shape[2] - net.bias
        layer = torch.nn.Linear(inside, out, bias=net.bias, dtype=weight.dtype)
        with torch.no_grad():
            layer.weight.copy_(weight[which, :out, :inside])
            if net.bias:
                layer.bias.copy_(weight[which, :out, inside])
        layers.append(layer)
        if net.activation == "relu" and k < net.layers - 1:
            layers.append(torch.nn.ReLU())
    return torch.nn.Sequential(*layers)


def with_one(points, net):
    return torch.cat([points, torch.ones_like(points[..., :1])], -1) if net.bias else points


@pytest.mark.parametrize("net", NETS, ids=str)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-10)])
def test_gradients_are_those_of_autograd(net, own, dtype, tolerance):
    points = clusters(nets=len(SEEDS) if own else None).to(dtype)
    weights = start(net, D, SEEDS, dtype)
    found = gradients(net, weights, make_batch(net, points))
    for which in range(len(SEEDS)):
        module = as_torch(net, weights, which)
        x = points[which] if own else points
        (0.5 * (module(x) - x).square().sum(1).mean()).backward()
        linears = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
        for layer, gradient in zip(linears, found, strict=True):
            out, inside = layer.weight.shape
            torch.testing.assert_close(gradient[which, :out, :inside], layer.weight.grad, rtol=0, atol=tolerance)
            if net.bias:
                torch.testing.assert_close(gradient[which, :out, inside], layer.bias.grad, rtol=0, atol=tolerance)
            assert not gradient[which, out:].any()  # the row that carries the 1 never moves


@pytest.mark.parametrize("net", NETS, ids=str)
def test_answers_and_jacobians_are_those_of_torch(net):
    weights = start(net, D, SEEDS, torch.float64)
    probes = PROBES.double()
    given = answers(net, weights, with_one(probes, net))
    slopes = jacobians(net, weights, with_one(probes, net)[0])
    for which in range(len(SEEDS)):
        module = as_torch(net, weights, which)
        torch.testing.assert_close(given[which], module(probes), rtol=0, atol=1e-12)
        parameters = dict(module.named_parameters())
        expected = jacrev(lambda x, m=module, p=parameters: functional_call(m, p, (x,)))(probes[0])
        torch.testing.assert_close(slopes[which], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("activation", ["linear", "relu"])
@pytest.mark.parametrize("order", ["fixed", "shuffled"])
@pytest.mark.parametrize("own", [True, False])
def test_a_net_alone_is_the_same_net_among_many(activation, order, own):
    net = NetConfig(layers=3, width=4, activation=activation)
    descent = DescentConfig(rate=0.05, batch=16, epochs=6, order=order)
    points = clusters(nets=len(SEEDS) if own else None)
    many = train(net, descent, points, PROBES, SEEDS, 7, torch.float64, jacobian=True)
    pairs = train(net, descent, points, PROBES, SEEDS, 7, torch.float64, jacobian=True, chunk=3)
    for which, seed in enumerate(SEEDS):
        mine = points[which : which + 1] if own else points
        alone = train(net, descent, mine, PROBES, [seed], 7, torch.float64, jacobian=True)
        for name in ("loss", "outputs", "jacobian"):
            one = getattr(alone, name)[:, 0]
            torch.testing.assert_close(getattr(many, name)[:, which], one, rtol=0, atol=1e-12)
            torch.testing.assert_close(getattr(pairs, name)[:, which], one, rtol=0, atol=1e-12)
    assert not torch.allclose(many.outputs[:, 0], many.outputs[:, 1])


def test_the_start_of_a_seed_is_the_same_bit_by_bit_in_any_company():
    net = NetConfig(layers=2, width=4)
    for among, alone in zip(start(net, D, SEEDS), start(net, D, SEEDS[2:3]), strict=True):
        assert torch.equal(among[2], alone[0])


def test_starts_have_the_bounds_and_moments_they_promise():
    seeds = range(400)
    net = NetConfig(layers=2, width=16)
    for layer, fan_in in enumerate((4, 16)):
        plain, gaussian, positive = (
            start(net.replace(start=kind), 4, seeds)[layer] for kind in ("torch", "gaussian", "positive")
        )
        body = slice(None, -1) if layer == 0 else slice(None)
        bound = fan_in**-0.5
        assert 0.99 * bound < plain[:, body].abs().max() <= bound
        assert torch.equal(positive[:, body], plain[:, body].abs())
        for numbers in (plain, gaussian, positive):
            mean_square = numbers[:, body].square().mean()
            assert mean_square == pytest.approx(bound**2 / 3, rel=0.03)
        assert gaussian[:, body].abs().max() > 1.5 * bound
        assert plain[:, body].mean().abs() < 0.03 * bound
    bare = start(net.replace(bias=False, scale=0.5), 4, seeds)
    assert torch.equal(bare[0], 0.5 * start(net, 4, seeds)[0][:, :-1, :-1])
    assert torch.equal(bare[1], 0.5 * start(net, 4, seeds)[1][:, :, :-1])


@pytest.mark.parametrize(("loss", "factor"), [("half", 1.0), ("mean", 2 / D)])
def test_one_layer_on_all_points_follows_the_closed_recursion(loss, factor):
    net, rate = NetConfig(layers=1, bias=False), 0.1
    points = clusters(nets=len(SEEDS))
    descent = DescentConfig(rate=rate, batch=None, steps=50, loss=loss)
    trace = train(net, descent, points, PROBES, SEEDS, 1, torch.float64, jacobian=True)
    moment = points.mT @ points / points.shape[1]
    w, eye = start(net, D, SEEDS, torch.float64)[0], torch.eye(D, dtype=torch.float64)
    for row in range(51):
        torch.testing.assert_close(trace.jacobian[row], w, rtol=0, atol=1e-13)
        w = w - rate * factor * (w - eye) @ moment
    direct = (points @ trace.jacobian[-1].mT - points).square().sum(2).mean(1) * factor / 2
    torch.testing.assert_close(trace.loss[-1], direct, rtol=1e-12, atol=0)


@pytest.mark.parametrize("activation", ["linear", "relu"])
@pytest.mark.parametrize("loss", ["half", "mean"])
def test_descent_in_batches_is_that_of_torch_and_its_loss_falls(activation, loss):
    """Batches of 16 out of 40 points: 16, 16, 8, then again."""
    net = NetConfig(layers=3, width=6, activation=activation)
    descent = DescentConfig(rate=0.05, batch=16, epochs=30, loss=loss)
    points, probes = clusters(nets=len(SEEDS)), PROBES.double()
    trace = train(net, descent, points, probes, SEEDS, 20, torch.float64)
    assert trace.steps.tolist() == [0, 20, 40, 60, 80, 90]
    assert (trace.loss[-1] < 0.5 * trace.loss[0]).all()
    module = as_torch(net, start(net, D, SEEDS, torch.float64), 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    for step in range(90):
        batch = points[1].split(16)[step % 3]
        error = (module(batch) - batch).square()
        optimizer.zero_grad()
        (error.mean() if loss == "mean" else 0.5 * error.sum(1).mean()).backward()
        optimizer.step()
    with torch.no_grad():
        torch.testing.assert_close(trace.outputs[-1, 1], module(probes), rtol=0, atol=1e-11)
        error = (module(points[1]) - points[1]).square()
        expected = error.mean() if loss == "mean" else 0.5 * error.sum(1).mean()
        torch.testing.assert_close(trace.loss[-1, 1], expected, rtol=1e-10, atol=0)
        error = (module(probes) - probes).square()
        expected = error.mean(1) if loss == "mean" else 0.5 * error.sum(1)
        torch.testing.assert_close(losses(trace)[-1, 1], expected, rtol=1e-10, atol=0)


def test_a_shuffled_epoch_shows_every_point_once_in_an_order_of_its_own(monkeypatch):
    shown, real = [], batched.gradients

    def note_and_go_on(net, weights, batch):
        shown.append(batch.rows[..., 0].clone())
        return real(net, weights, batch)

    monkeypatch.setattr(batched, "gradients", note_and_go_on)
    points = torch.stack([torch.arange(20.0), torch.zeros(20)], 1) / 20
    net = NetConfig(layers=2, width=3, activation="relu")
    descent = DescentConfig(rate=1e-6, batch=8, epochs=2, order="shuffled")
    train(net, descent, points, torch.zeros(1, 2), [1, 2], 100)
    assert [batch.shape[1] for batch in shown] == [8, 8, 4] * 2
    epochs = [torch.cat(shown[:3], 1), torch.cat(shown[3:], 1)]  # [n, 20] each
    for epoch in epochs:
        assert torch.equal(epoch.sort(1).values, points[:, 0].expand(2, -1))
    orders = [*epochs[0], *epochs[1], points[:, 0]]
    assert len({tuple(order.tolist()) for order in orders}) == 5


@pytest.mark.parametrize("bias", [True, False])
def test_a_batch_for_linear_nets_is_condensed_to_the_rank_of_its_points(bias):
    """Points in a plane of five dimensions, turned at random: two rows, and one for the 1; all moments are kept."""
    net = NetConfig(bias=bias)
    generator = torch.Generator().manual_seed(1)
    turn = torch.linalg.qr(torch.randn(5, 5, generator=generator, dtype=torch.float64)).Q
    flat = torch.randn(4, 50, 5, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 1e-3, 0, 0, 0])
    for points in (flat + torch.tensor([2.0, 1.0, 0, 0, 0]), (flat + torch.tensor([2.0, 1.0, 0, 0, 0])) @ turn):
        batch, x = make_batch(net, points), with_one(points, net)
        assert batch.rows.shape == (4, 2 + bias, 5 + bias)
        assert batch.count == 50
        torch.testing.assert_close(batch.rows.mT @ batch.rows, x.mT @ x, rtol=0, atol=1e-12)
    assert make_batch(net.replace(activation="relu"), points).rows.shape == (4, 50, 5 + bias)
    assert make_batch(net, torch.zeros(7, 5)).rows.sum() == (7**0.5 if bias else 0)


def test_the_loss_may_be_taken_over_fewer_points_and_probes_may_differ_between_nets():
    points = clusters(30)
    probes = torch.stack([PROBES + k for k in range(len(SEEDS))]).double()
    net = NetConfig(layers=2, width=4, activation="relu")
    descent = DescentConfig(rate=0.01, batch=7, steps=3)
    fewer = train(net, descent, points, probes, SEEDS, 1, torch.float64, loss_points=10)
    same = train(net, descent, points, probes[2], SEEDS[2:3], 1, torch.float64)
    torch.testing.assert_close(fewer.outputs[:, 2:3], same.outputs, rtol=0, atol=1e-13)
    untrained = descent.replace(steps=0)
    third = train(net, untrained, points[::3], probes, SEEDS, 1, torch.float64)
    torch.testing.assert_close(fewer.loss[:1], third.loss, rtol=1e-12, atol=0)
    assert losses(fewer).shape == (4, len(SEEDS), 2)


def test_chunks_keep_the_numbers_at_once_below_the_limit(monkeypatch):
    started, real = [], batched.start

    def start_and_note(net, d, seeds, *rest):
        started.append(seeds)
        return real(net, d, seeds, *rest)

    monkeypatch.setattr(batched, "start", start_and_note)
    net, descent = NetConfig(layers=2, width=4), DescentConfig(batch=16, steps=1)
    each = 40 * D + 3 * (D + 1) ** 2 + 3 * 2 * 5**2  # points, batches, and what a step makes
    monkeypatch.setattr(batched, "LIMIT", 4 * each - 1)
    train(net, descent, clusters(nets=4), PROBES, SEEDS, 1)
    assert started == [SEEDS[:3], SEEDS[3:]]


def test_a_thousand_nets_or_three_end_where_an_ordinary_loop_ends():
    found = benchmark(nets=3, steps=40, sample=2, each=50)
    assert found["largest_difference"] < 1e-6
    assert found["ratio"] == found["one_by_one_seconds"] / found["batched_seconds"]
    assert found["one_by_one_measured_on"] == 2


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("loss", "factor"), [("half", 1.0), ("mean", 2 / D)])
def test_an_unstable_rate_of_one_layer_is_refused_with_the_one_that_is_stable(shared, loss, factor):
    points = clusters(nets=4)
    points[2] *= 2  # the steepest
    shown = points[2] if shared else points
    stable = 2 / factor / float(torch.linalg.eigvalsh(points[2].T @ points[2] / 40)[-1])
    net = NetConfig(layers=1, bias=False)
    descent = DescentConfig(rate=1.01 * stable, batch=None, steps=2000, loss=loss)
    with pytest.raises(UserError, match=f"needs a rate below {stable:.4g}") as caught:
        train(net, descent, shown, PROBES, SEEDS, 100, torch.float64)
    assert "\n" not in str(caught.value)
    assert ("of seed 15" in str(caught.value)) is not shared
    calm = train(net, descent.replace(rate=0.99 * stable), shown, PROBES, SEEDS, 1000, torch.float64)
    assert (calm.loss[-1] < 1e-3 * calm.loss[0]).all()


def test_a_loss_that_is_lost_names_its_seeds():
    points = clusters(nets=len(SEEDS))
    points[2] *= 100
    net, descent = NetConfig(layers=2, width=4), DescentConfig(rate=0.05, batch=None, steps=200)
    with pytest.raises(RunFailed, match=r"not finite by step \d+ for seed 15: lower rate \(now 0.05\)") as caught:
        train(net, descent, points, PROBES, SEEDS, 10)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"points": torch.full((5, D), float("nan"))}, "points that are not finite"),
        ({"points": torch.tensor([[0.0, 1.0, float("inf")]])}, "points that are not finite"),
        ({"points": torch.zeros(3, 5, D)}, r"points of shape \[3, 5, 3\]: give \[count, d\], or \[4, count, d\]"),
        ({"points": torch.zeros(0, D)}, r"points of shape \[0, 3\]"),
        ({"points": torch.zeros(D)}, r"points of shape \[3\]"),
        ({"probes": torch.zeros(1, 2)}, "points have 3 dimensions and probes 2"),
        ({"probes": torch.full((1, D), float("inf"))}, "probes that are not finite"),
        ({"seeds": []}, "give at least one"),
        ({"seeds": [0, 1, 2, -1]}, r"from 0 to 2\^32 - 1"),
        ({"every": 0}, "every 0"),
        ({"dtype": torch.float16}, "use float32 or float64"),
        ({"loss_points": 41}, "loss_points 41: between 1 and the 40"),
    ],
)
def test_bad_input_is_one_line(changes, line):
    given = {"points": clusters(), "probes": PROBES, "seeds": SEEDS, "every": 1} | changes
    with pytest.raises(UserError, match=line) as caught:
        train(NetConfig(), DescentConfig(steps=1), **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (NetConfig, {"layers": 0}),
        (NetConfig, {"start": "zero"}),
        (DescentConfig, {"rate": 0}),
        (DescentConfig, {"batch": 0}),
    ],
)
def test_bad_settings_name_their_key(kind, change):
    with pytest.raises(UserError, match=next(iter(change))):
        build(kind, change)

"""A training step equals one written by hand; a resumed run equals one that never stopped, bit by bit."""

import math
import sys
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._dynamo.testing import CompileCounterWithBackend

from recombine import seeds
from recombine.denoisers.configs import UNetConfig
from recombine.errors import RunFailed
from recombine.training import replica as module
from recombine.training.execution import Execution
from recombine.training.replica import EMA_RAMP, TrainingConfig, batch_loss
from recombine.training.state import load_tensors, save_tensors
from recombine.worlds.splits import draw, make_pool, rows_of
from support.replicas import BATCH, NETWORK, POOL, SCHEDULE, SHORT, SPLIT, WORLD, advance, make_model, make_replica


def copied(replica):
    return {name: tensor.detach().clone() for name, tensor in replica.tensors().items()}


def assert_same_bits(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def reference(config, steps, order=0):
    """The same training in plain lines: autograd, torch's own AdamW, everything else by hand.

    Gives the parameters, their average, the losses and the lengths of the gradients.
    """
    model = make_model()
    parameters = dict(model.named_parameters())
    average = {name: p.detach().clone() for name, p in parameters.items()}
    adam = torch.optim.AdamW(
        parameters.values(), betas=config.betas, weight_decay=config.weight_decay, foreach=False, fused=False
    )
    table, total, losses, lengths = SCHEDULE.table(), config.images, [], []
    for seen in range(0, steps * config.batch, config.batch):
        key = seeds.keys(order, "order", torch.arange(seen, seen + config.batch))
        x0, condition = draw(POOL, key)
        step = (seeds.uniform(key, lane=2).double() * len(table)).floor().long()
        sigma = table[step].float()
        noise = seeds.normal(key, WORLD.image_shape, lane=3)
        level = sigma[:, None, None, None]
        said = model.network((x0 + level * noise) / (1 + level**2).sqrt(), sigma.log() / 4, condition)
        loss = ((said - noise) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        length = math.sqrt(sum(p.grad.double().square().sum().item() for p in parameters.values()))
        if config.clip is not None and length > config.clip:
            for p in parameters.values():
                p.grad.mul_(config.clip / length)
        factor = {
            "constant": 1.0,
            "linear": 1 - seen / total,
            "cosine": (1 + math.cos(math.pi * seen / total)) / 2,
        }[config.decay]
        if config.warmup_images:
            factor *= min(1, (seen + config.batch) / config.warmup_images)
        adam.param_groups[0]["lr"] = config.rate * factor
        adam.step()
        if config.ema_images:
            half_life = min(config.ema_images, max(1, EMA_RAMP * (seen + config.batch)))
            keep = 0.5 ** (config.batch / half_life)
            for name, p in parameters.items():
                average[name] = keep * average[name] + (1 - keep) * p.detach()
        losses.append(loss.item())
        lengths.append(length)
    return {n: p.detach() for n, p in parameters.items()}, average, losses, lengths


VARIANTS = {
    "constant": {"decay": "constant"},
    "linear": {"decay": "linear"},
    "cosine": {"decay": "cosine"},
    "warm-up": {"decay": "cosine", "warmup_images": 3 * BATCH},
    "clipped": {"clip": 0.05, "decay": "constant"},
    "never clipped": {"clip": None, "decay": "constant"},
    "weight decay": {"weight_decay": 0.1, "betas": (0.5, 0.9)},
    "average": {"ema_images": 1000},
    "short average": {"ema_images": 2},
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("steps", [1, 4])
def test_steps_equal_those_written_by_hand(name, steps):
    config = SHORT.replace(**VARIANTS[name])
    replica = make_replica(config, order=3)
    before = copied(replica)
    losses = []
    for _ in range(steps):
        replica.step()
        losses.append(replica.take_loss())
    parameters, average, expected, lengths = reference(config, steps, order=3)
    assert losses == pytest.approx(expected, abs=1e-6)
    for parameter, value in parameters.items():
        torch.testing.assert_close(dict(replica.model.named_parameters())[parameter], value, rtol=0, atol=1e-6)
    if config.ema_images:
        for parameter, value in average.items():
            torch.testing.assert_close(replica.weights()[parameter], value, rtol=0, atol=1e-6)
            assert not torch.equal(replica.weights()[parameter], parameters[parameter])
    if name == "clipped":
        assert min(lengths) > 0.05  # it did clip
    after = replica.tensors()
    assert all(not torch.equal(after[f"model.{p}"], before[f"model.{p}"]) for p in parameters)
    assert replica.images_seen == replica.seen.item() == steps * BATCH


def test_the_rate_falls_to_its_last_fraction():
    replica = advance(make_replica(SHORT.replace(decay="linear")), 6)
    assert replica.rate.item() == pytest.approx(3e-4 / 6)
    replica = advance(make_replica(SHORT.replace(decay="linear")), 8)  # further than planned: no negative rate
    assert replica.rate.item() == 0


def test_no_step_leaves_the_model_as_it_was():
    replica, fresh = make_replica(SHORT.replace(weight_decay=0.5)), make_model()
    for name, tensor in fresh.state_dict().items():
        assert torch.equal(replica.tensors()[f"model.{name}"], tensor), name
    assert all(not t.any() for name, t in replica.tensors().items() if name.startswith("adam."))


def test_training_leaves_the_global_generator_alone():
    before = torch.random.get_rng_state()
    advance(make_replica(), 2)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_order_seed_decides_the_batches():
    first, again, other = (copied(advance(make_replica(order=order), 2)) for order in (0, 0, 1))
    assert_same_bits(first, again)
    assert not torch.equal(first["model.network.enter.weight"], other["model.network.enter.weight"])


@pytest.mark.parametrize(
    ("config", "execution", "network"),
    [
        (SHORT, Execution(), NETWORK),
        (SHORT.replace(ema_images=30, decay="cosine", warmup_images=32, weight_decay=0.1), Execution(), NETWORK),
        (SHORT.replace(ema_images=30), Execution(channels_last=True), NETWORK),
        (SHORT, Execution(precision="bfloat16", channels_last=True), NETWORK),
        (SHORT.replace(weighting="min-snr"), Execution(), NETWORK.replace(norm="batch")),
        (SHORT.replace(mask=0.3), Execution(), NETWORK),
    ],
    ids=["plain", "everything", "channels last", "bfloat16", "batch norm", "masked"],
)
def test_a_resumed_run_has_the_same_bits(tmp_path, config, execution, network):
    whole = advance(make_replica(config, execution, network), 6)
    first = advance(make_replica(config, execution, network), 3)
    save_tensors(tmp_path / "checkpoint", first.tensors(), "run")
    second = make_replica(config, execution, network, init=5)  # other weights, all of which must go
    places = {name: tensor.data_ptr() for name, tensor in second.tensors().items()}
    second.restore(load_tensors(tmp_path / "checkpoint", "run", like=second.tensors()))
    assert second.images_seen == 3 * BATCH
    assert_same_bits(copied(second), copied(first))
    assert_same_bits(copied(advance(second, 3)), copied(whole))
    assert {name: tensor.data_ptr() for name, tensor in second.tensors().items()} == places
    assert_same_bits(dict(second.weights()), dict(whole.weights()))
    assert second.images_seen == whole.images_seen


def test_a_checkpoint_misses_nothing():
    """Every tensor that a step changes is in the checkpoint, apart from the loss and the rate, which are made anew."""
    replica = make_replica(SHORT.replace(ema_images=30), network=NETWORK.replace(norm="batch"))
    before = copied(replica)
    advance(replica, 1)
    after = replica.tensors()
    # A batch of finite images changes everything, down to the counters of batch norm.
    unchanged = [name for name in before if torch.equal(before[name], after[name])]
    assert unchanged == []
    kinds = {name.split(".")[0] for name in before}
    assert kinds == {"model", "adam", "average", "seen"}
    assert {n for n in make_replica().tensors() if n.startswith("average")} == set()


def test_loss_falls():
    config = TrainingConfig(images=60 * 16, batch=16, rate=5e-3)
    replica = make_replica(config)
    losses = []
    for _ in range(6):
        losses.append(advance(replica, 10).take_loss())
    assert losses[0] > 0.5  # near that of predicting zero, which is 1
    assert losses[-1] < 0.5 * losses[0]


def test_take_loss_is_the_mean_since_the_last():
    replica = make_replica()
    _, _, losses, _ = reference(SHORT, 5)
    assert advance(replica, 2).take_loss() == pytest.approx(sum(losses[:2]) / 2, abs=1e-6)
    assert advance(replica, 3).take_loss() == pytest.approx(sum(losses[2:]) / 3, abs=1e-6)
    assert replica.take_loss() == 0.0


def failure(replica):
    with pytest.raises(RunFailed) as caught:
        replica.take_loss()
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 1
    return str(caught.value)


def test_a_rate_that_is_too_high_is_said():
    replica = make_replica(SHORT.replace(rate=1e20, clip=None))
    message = failure(advance(replica, 4))
    assert "lower training.rate (now 1e+20)" in message
    assert "near 32 images" in message


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_poisoned_weights_are_noticed(poison):
    replica = advance(make_replica(), 2)
    replica.take_loss()
    with torch.no_grad():
        replica.parameters[0].view(-1)[0] = poison
    assert "training.rate" in failure(advance(replica, 1))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_one_bad_step_among_many_is_noticed(bad):
    replica = advance(make_replica(), 1)
    replica.loss_sum += bad
    assert f"the loss became {bad} near 32 images" in failure(advance(replica, 3))


def test_without_an_average_the_weights_are_the_parameters():
    replica = advance(make_replica(), 2)
    assert_same_bits(dict(replica.weights()), dict(replica.model.state_dict()))
    assert all(not tensor.requires_grad for tensor in replica.weights().values())


def test_the_average_is_of_everything_that_is_not_counted():
    """Parameters and the running statistics of batch norm, as the formula says; counters are those of now."""
    config, network = SHORT.replace(ema_images=10), NETWORK.replace(norm="batch")
    replica = make_replica(config, network=network)
    expected = {name: tensor.double() for name, tensor in replica.model.state_dict().items()}
    for step in range(1, 4):
        replica.step()
        keep = 0.5 ** (BATCH / min(10, max(1, EMA_RAMP * step * BATCH)))
        for name, tensor in replica.model.state_dict().items():
            expected[name] = keep * expected[name] + (1 - keep) * tensor if tensor.is_floating_point() else tensor
    fresh = make_model(network, seed=9)
    fresh.load_state_dict(dict(replica.weights()))
    now = replica.model.state_dict()
    for name, tensor in fresh.state_dict().items():
        torch.testing.assert_close(tensor.double(), expected[name].double(), rtol=0, atol=1e-6, msg=name)
        assert tensor.is_floating_point() != torch.equal(tensor, now[name]), name
    assert fresh.state_dict()["network.leave.0.num_batches_tracked"] == 3


def test_channels_last_gives_the_same_result():
    config = SHORT.replace(ema_images=20)
    plain = copied(advance(make_replica(config), 3))
    fast = advance(make_replica(config, Execution(channels_last=True)), 3)
    assert fast.model.network.enter.weight.is_contiguous(memory_format=torch.channels_last)
    for name, tensor in copied(fast).items():
        torch.testing.assert_close(tensor, plain[name], rtol=0, atol=1e-5, msg=name)


def test_bfloat16_follows_float32():
    config = TrainingConfig(images=1280, batch=32, rate=1e-3)
    plain, fast = make_replica(config), make_replica(config, Execution(precision="bfloat16"))
    for _ in range(4):
        expected, loss = advance(plain, 5).take_loss(), advance(fast, 5).take_loss()
        assert loss == pytest.approx(expected, rel=0.05)
        assert loss != expected
    assert all(tensor.dtype == torch.float32 for tensor in fast.weights().values())


def test_a_compiled_loss_equals_the_eager_one_and_serves_every_replica(monkeypatch):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    monkeypatch.setattr(
        module,
        "compiled_loss",
        cache(lambda: torch.compile(batch_loss, backend=counter, dynamic=False, fullgraph=True)),
    )
    rows = CompileCounterWithBackend("aot_eager")
    monkeypatch.setattr(
        module, "compiled_rows", cache(lambda: torch.compile(rows_of, backend=rows, dynamic=False, fullgraph=True))
    )
    compiling, small = replace(Execution(), compile=True), UNetConfig(channels=4, multipliers=(1,))
    for order in (0, 1):  # the second replica has its own model, pool of another size, mask and drawer of noise levels
        monkeypatch.setattr(sys.modules[__name__], "POOL", make_pool(WORLD, SPLIT.replace(count=20 + order), 0))
        config = SHORT.replace(mask=0.3 * order)
        eager = advance(make_replica(config, network=small, order=order, init=order), 3)
        compiled = advance(make_replica(config, execution=compiling, network=small, order=order, init=order), 3)
        assert counter.frame_count == rows.frame_count == 1
        assert compiled.take_loss() == pytest.approx(eager.take_loss(), abs=1e-5)
        for name, tensor in copied(compiled).items():
            torch.testing.assert_close(tensor, copied(eager)[name], rtol=0, atol=1e-5, msg=name)
    torch._dynamo.reset()


def test_one_process_compiles_more_kinds_of_networks_than_torch_expects(monkeypatch):
    torch._dynamo.reset()
    for name, function in (("compiled_loss", batch_loss), ("compiled_rows", rows_of)):
        compiled = torch.compile(function, backend="eager", dynamic=False, fullgraph=True)
        monkeypatch.setattr(module, name, lambda compiled=compiled: compiled)
    with torch._dynamo.config.patch(recompile_limit=2):
        for channels in (4, 8, 12, 16):
            network = UNetConfig(channels=channels, multipliers=(1,))
            replica = make_replica(execution=replace(Execution(), compile=True), network=network)
            assert advance(replica, 1).take_loss() > 0
    torch._dynamo.reset()


class Refused(Exception):
    """What a compiler raises."""


def test_a_network_that_cannot_be_compiled_is_trained_without(monkeypatch):
    """Recording stands for a GPU's: it makes a step, and answers with it."""

    def refuse(*_):
        raise Refused("expected size 44==44, stride 9==1\nmore of it")

    def record(replica):
        before = copied(replica)
        replica._step()
        replica.restore(before)
        return replica._step

    monkeypatch.setattr(module, "compiled_loss", lambda: refuse)
    monkeypatch.setattr(module, "compiled_rows", lambda: rows_of)
    monkeypatch.setattr(module.Replica, "_capture", record)
    replica, eager = make_replica(execution=Execution(compile=True, graphs=True)), make_replica()
    with pytest.warns(UserWarning, match=r"goes on without: expected size 44==44, stride 9==1$"):
        replica.prepare()
    assert_same_bits(copied(advance(replica, 2)), copied(advance(eager, 2)))

    monkeypatch.setattr(module, "batch_loss", refuse)
    with pytest.raises(Refused):  # it is not the compiling
        make_replica(execution=Execution(graphs=True)).prepare()


def test_preparing_without_graphs_changes_nothing():
    replica = make_replica()
    before = copied(replica)
    replica.prepare()
    assert_same_bits(copied(replica), before)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 10**7), st.integers(1, 1000))
def test_images_are_counted_in_whole_batches(images, batch):
    config = TrainingConfig(images=images, batch=batch)
    assert config.total % batch == 0
    assert config.total >= batch
    assert abs(config.total - images) <= max(batch / 2, batch - images)
    assert config.whole(config.total) == config.total

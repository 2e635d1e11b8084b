from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from recombine.denoisers.configs import ConditionConfig, UNetConfig
from recombine.denoisers.unet import UNet
from recombine.errors import UserError
from recombine.seeds import torch_seeded
from recombine.settings import build

WIDTHS = (2, 3, 1)
ENTRIES: dict[str, dict[str, Any]] = {
    "multiply": {},
    "multiply-all-free": {"where": "all", "gain": "free"},
    "add": {"entry": "add"},
    "joint": {"entry": "joint"},
    "joint-add": {"entry": "joint", "mode": "add", "where": "all"},
    "positional": {"entry": "positional", "mode": "add", "hidden": 0},
    "positional-mlp": {"entry": "positional"},
    "spatial": {"entry": "spatial", "grid": (2, 3)},
}


def network(
    size: int = 16,
    widths: tuple[int, ...] = WIDTHS,
    seed: int = 0,
    condition: dict[str, Any] | None = None,
    **choices: Any,
) -> UNet:
    config = UNetConfig(
        condition=ConditionConfig(**{"hidden": 16, "width": 8, **(condition or {})}),
        **{"channels": 8, "groups": 4, "attention": (2,), "heads": 2, **choices},
    )
    with torch_seeded(seed):
        return UNet(config, (3, size, size), widths).double()


def inputs(n: int = 2, size: int = 16, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, size, size, generator=g, dtype=torch.float64)
    return x, torch.rand(n, generator=g, dtype=torch.float64), torch.rand(n, 6, generator=g, dtype=torch.float64)


@pytest.mark.parametrize("size", [16, 28, 32, 64])
@pytest.mark.parametrize("multipliers", [(1,), (1, 2), (1, 2, 4)])
def test_image_in_image_out(size: int, multipliers: tuple[int, ...]) -> None:
    top = len(multipliers) - 1
    net = network(size, multipliers=multipliers, attention=(top,) if size < 64 else ())
    x, level, condition = inputs(size=size)
    assert net(x, level, condition).shape == x.shape


def test_oblong_grey_images_and_four_levels() -> None:
    with torch_seeded(0):
        net = UNet(UNetConfig(channels=8, multipliers=(1, 2, 4, 4), attention=(1, 2, 3), blocks=2), (1, 16, 32), (2,))
    out = net(torch.zeros(3, 1, 16, 32), torch.zeros(3), torch.zeros(3, 2))
    assert out.shape == (3, 1, 16, 32)


def test_three_levels_of_28_px_meet_at_7() -> None:
    net, seen = network(28), []
    for stage in (*net.down, net.bottom, net.middle, *net.up):
        stage.register_forward_hook(lambda _module, _inputs, output: seen.append(tuple(output.shape[1:])))
    net(*inputs(size=28))
    assert seen == [(8, 28, 28), (16, 14, 14), (32, 7, 7), (32, 7, 7), (16, 14, 14), (8, 28, 28)]


CHOICES = [{"condition": entry} for entry in ENTRIES.values()] + [
    {"norm": "group", "groups": 2, "blocks": 2, "attention": (0, 1, 2)},
    {"norm": "batch"},
    {"norm": "batch", "downsample": "conv", "attention": ()},
    {"norm": "none", "activation": "gelu", "downsample": "avg"},
    {"norm": "layer1", "dropout": 0.1},
    {"widths": ()},
]


@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_every_parameter_has_a_gradient_from_the_first_step(choices: dict[str, Any]) -> None:
    net, (x, level, condition) = network(**choices), inputs(4)
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    (net(x, level, condition if choices.get("widths") != () else None) - noise).square().mean().backward()
    largest = {name: 0.0 if p.grad is None else p.grad.abs().max().item() for name, p in net.named_parameters()}
    assert {name: value for name, value in largest.items() if not value > 1e-10} == {}


@pytest.mark.parametrize("condition", ENTRIES.values(), ids=ENTRIES.keys())
def test_condition_and_noise_level_take_effect_from_the_first_step(condition: dict[str, Any]) -> None:
    net, (x, level, label) = network(condition=condition), inputs()
    out = net(x, level, label)
    scale = out.std().item()
    for number in range(label.shape[1]):  # each number of the condition, not only some
        changed = label.clone()
        changed[:, number] += 0.5
        assert (net(x, level, changed) - out).abs().max() > 1e-3 * scale
    assert (net(x, level + 0.1, label) - out).abs().max() > 1e-3 * scale


def test_the_first_answer_is_small() -> None:
    x, level, condition = inputs(8)
    assert 0 < network()(x, level, condition).square().mean() < 0.1


@pytest.mark.parametrize("norm", ["group", "layer1", "none"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("entry", ["multiply", "spatial"])
def test_an_image_does_not_see_its_batch(norm: str, training: bool, entry: str) -> None:
    net, (x, level, condition) = network(norm=norm, condition=ENTRIES[entry]).train(training), inputs(2)
    alone = torch.cat([net(x[i : i + 1], level[i : i + 1], condition[i : i + 1]) for i in range(2)])
    torch.testing.assert_close(net(x, level, condition), alone, rtol=1e-10, atol=1e-12)


def test_batch_norm_sees_its_batch_only_in_training() -> None:
    net, (x, level, condition) = network(norm="batch"), inputs(2)
    gap = (net(x, level, condition)[:1] - net(x[:1], level[:1], condition[:1])).abs().max()
    assert gap > 1e-6
    net.eval()
    torch.testing.assert_close(net(x, level, condition)[:1], net(x[:1], level[:1], condition[:1]))


@pytest.mark.parametrize("where", ["up", "all"])
def test_where_decides_which_stages_receive_the_condition(where: str) -> None:
    net, (x, level, label) = network(condition={"where": where}), inputs()
    outputs: dict[str, list[Tensor]] = {"bottom": [], "middle": []}
    for name, seen in outputs.items():
        net.get_submodule(name).register_forward_hook(lambda _m, _i, output, seen=seen: seen.append(output))
    net(x, level, label)
    net(x, level, label + 0.5)
    assert torch.equal(*outputs["bottom"]) == (where == "up")
    assert not torch.equal(*outputs["middle"])


def test_multiply_is_factor_times_feature_plus_shift() -> None:
    net = network()
    block = net.middle.blocks[0]
    g = torch.Generator().manual_seed(0)
    x, factor, shift = (torch.randn(*s, generator=g, dtype=torch.float64) for s in [(2, 32, 4, 4), (2, 32), (2, 32)])
    inside = block.second_norm(block.first(block.activation(block.first_norm(x))))
    said = factor[:, :, None, None] * inside + shift[:, :, None, None]
    torch.testing.assert_close(block(x, factor, shift), x + block.second(block.activation(said)))


def test_an_ignored_condition_cannot_change_an_unconditional_network() -> None:
    net, (x, level, condition) = network(widths=()), inputs()
    assert torch.equal(net(x, level), net(x, level, condition))


def count_by_hand(c: list[int], hidden: int, width: int, concepts: tuple[int, ...], blocks: int) -> int:
    """Parameters of a three-channel network with norms, biases and attention in the middle, added up on paper."""

    def conv(inputs: int, outputs: int, side: int) -> int:
        return inputs * outputs * side**2 + outputs

    def stage(inputs: int, outputs: int, depth: int) -> int:
        total = 0
        for wide in [inputs] + [outputs] * (depth - 1):
            total += 2 * wide + conv(wide, outputs, 3) + 2 * outputs + conv(outputs, outputs, 3)
            total += conv(wide, outputs, 1) if wide != outputs else 0
        return total

    body = conv(3, c[0], 3) + 2 * c[0] + conv(c[0], 3, 3)
    body += sum(stage(a, b, blocks) for a, b in pairwise([c[0], *c])) + stage(c[-1], c[-1], blocks)
    body += sum(conv(b, a, 1) + stage(2 * a, a, blocks) for a, b in pairwise(c))
    attention = 2 * c[-1] + 3 * c[-1] ** 2 + conv(c[-1], c[-1], 1)
    late = blocks * (c[-1] + sum(c[:-1]))
    everywhere = late + blocks * sum(c)
    e = 4 * c[0]
    noise = (64 * e + e) + (e * e + e) + (e * everywhere + everywhere)
    conditioner = sum(k * hidden + hidden + hidden * width + width for k in concepts) + width * late + late
    return body + attention + noise + conditioner


@pytest.mark.parametrize(("channels", "blocks"), [(16, 1), (8, 2)])
def test_parameter_count_by_hand(channels: int, blocks: int) -> None:
    net = network(28, channels=channels, blocks=blocks, condition={"hidden": 16, "width": 8})
    expected = count_by_hand([channels, 2 * channels, 4 * channels], 16, 8, WIDTHS, blocks)
    assert sum(p.numel() for p in net.parameters()) == expected


def test_same_seed_same_weights() -> None:
    one, same, other = (network(seed=seed).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["enter.weight"], other["enter.weight"])


def test_bf16_autocast_and_channels_last_give_the_same_picture() -> None:
    net, (x, level, condition) = network().float(), (t.float() for t in inputs(4))
    plain = net(x, level, condition)
    last = net.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last), level, condition)
    torch.testing.assert_close(last, plain, rtol=1e-3, atol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        short = net(x, level, condition)
    assert short.dtype == torch.bfloat16
    assert (short.float() - plain).abs().max() < 0.1 * plain.abs().max()


@pytest.mark.parametrize("condition", ENTRIES.values(), ids=ENTRIES.keys())
def test_no_python_depends_on_the_numbers(condition: dict[str, Any]) -> None:
    net, (x, level, label) = network(condition=condition).to("meta"), (t.to("meta") for t in inputs())
    assert net(x, level, label).shape == x.shape  # a meta tensor has no numbers: asking for one raises


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": [3]}, "levels are 0 to 2"),
        ({"channels": 12, "norm": "group"}, "groups = 8 must divide"),
        ({"attention": [0], "heads": 5}, "heads = 5 must divide"),
        ({"multipliers": [1, 0]}, "must be 1 or more"),
        ({"chanels": 16}, "did you mean 'channels'"),
        ({"condition": {"entry": "sum"}}, "condition.entry"),
    ],
)
def test_wrong_settings_are_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        build(UNetConfig, settings)
    assert "\n" not in str(error.value)


def test_sizes_that_do_not_halve_are_one_line() -> None:
    with pytest.raises(UserError, match="30x30 px cannot be halved 2 times: use sides that are multiples of 4"):
        network(30)
    with pytest.raises(UserError, match="at least one number"):
        network(widths=(2, 0))
    with pytest.raises(UserError, match="give it one"):
        network()(*inputs()[:2])


def test_attention_is_the_softmax_of_the_textbook() -> None:
    attention = network().bottom.attention
    assert attention is not None
    x = torch.randn(2, 32, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    asked = attention.ask(attention.norm(x))
    seen = torch.zeros_like(x)
    for image in range(2):
        for head in range(2):
            first = slice(16 * head, 16 * (head + 1))
            query, key, value = (part[first].flatten(1) for part in asked[image].split(32))  # [16, pixels]
            weights = (query.T @ key / 16**0.5).softmax(dim=1)
            seen[image, first] = (value @ weights.T).reshape(16, 3, 5)
    torch.testing.assert_close(attention(x), x + attention.answer(seen))

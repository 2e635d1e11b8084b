"""Checkpoints come back bit by bit or not at all, and every kind of damage is one line that says what to do."""

import os

import pytest
import safetensors.torch
import torch

from recombine.errors import RunFailed
from recombine.training.state import load_tensors, save_tensors

RUN = "0123456789ab"


def example():
    generator = torch.Generator().manual_seed(0)
    return {
        "weights": torch.randn(3, 4, generator=generator),
        "half": torch.randn(5, generator=generator).bfloat16(),
        "double": torch.randn(2, generator=generator, dtype=torch.float64),
        "seen": torch.tensor(2**40, dtype=torch.int64),
        "step": torch.tensor(7.0),
        "pixels": torch.arange(256, dtype=torch.int64).to(torch.uint8),
        "flags": torch.tensor([True, False]),
        "none": torch.zeros(0, 3),
        "image": torch.randn(2, 3, 4, 4, generator=generator).to(memory_format=torch.channels_last),
        "turned": torch.randn(3, 5, generator=generator).T,
    }


def failure(*args, **kwargs):
    with pytest.raises(RunFailed) as caught:
        load_tensors(*args, **kwargs)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 1
    return str(caught.value)


def test_round_trip(tmp_path):
    saved = example()
    save_tensors(tmp_path / "x.safetensors", saved, RUN)
    loaded = load_tensors(tmp_path / "x.safetensors", RUN, like=saved)
    assert loaded.keys() == saved.keys()
    for name, tensor in saved.items():
        assert loaded[name].dtype == tensor.dtype, name
        assert loaded[name].shape == tensor.shape, name
        assert torch.equal(loaded[name], tensor), name
    assert os.listdir(tmp_path) == ["x.safetensors"]


def test_saving_needs_no_gradient_and_copies_nothing_back(tmp_path):
    parameter = torch.nn.Parameter(torch.ones(3))
    save_tensors(tmp_path / "x", {"p": parameter}, RUN)
    with torch.no_grad():
        parameter.zero_()
    assert load_tensors(tmp_path / "x", RUN)["p"].tolist() == [1, 1, 1]


def test_another_runs_checkpoint(tmp_path):
    save_tensors(tmp_path / "x", example(), RUN)
    message = failure(tmp_path / "x", "ba9876543210")
    assert f"belongs to run {RUN}, not to ba9876543210" in message
    assert str(tmp_path / "x") in message


def test_a_foreign_safetensors_file(tmp_path):
    safetensors.torch.save_file({"a": torch.ones(2)}, tmp_path / "x")
    assert "belongs to no run" in failure(tmp_path / "x", RUN)


@pytest.mark.parametrize("keep", [0, 4, 8, 60, -1, -40])
def test_a_truncated_file(tmp_path, keep):
    save_tensors(tmp_path / "x", {"a": torch.randn(100)}, RUN)
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(whole[:keep])
    message = failure(tmp_path / "x", RUN)
    assert message.startswith(f"{tmp_path / 'x'} is damaged")
    assert f"move the folder {tmp_path} away and give the `recombine run` command again" in message


@pytest.mark.parametrize("content", [b"hello, this is no checkpoint at all", b"\x00" * 100, b"\xff" * 100])
def test_not_a_safetensors_file(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    assert failure(tmp_path / "x", RUN).startswith(f"{tmp_path / 'x'} is damaged")


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({"b": torch.zeros(2, 4)}, "b"),  # another shape
        ({"d": torch.zeros(1)}, "d"),  # the network has more
        ({"b": None}, "b"),  # the file has more
        ({"a": torch.zeros(1, 2), "c": torch.zeros(())}, "a"),
    ],
)
def test_other_shapes_and_names(tmp_path, change, first):
    saved = {"a": torch.zeros(2), "b": torch.zeros(4, 2), "c": torch.zeros(1)}
    save_tensors(tmp_path / "x", saved, RUN)
    like = {name: tensor for name, tensor in (saved | change).items() if tensor is not None}
    message = failure(tmp_path / "x", RUN, like=like)
    assert f"does not fit this network (first difference: {first})" in message
    assert load_tensors(tmp_path / "x", RUN, like=saved).keys() == saved.keys()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_refused_and_the_old_file_kept(tmp_path, value):
    path = tmp_path / "x"
    save_tensors(path, {"a": torch.ones(3), "n": torch.tensor(1)}, RUN)
    before = path.read_bytes()
    with pytest.raises(RunFailed, match=r"x keeps its last good state; lower training\.rate") as caught:
        save_tensors(path, {"a": torch.tensor([1.0, value, 2.0]), "n": torch.tensor(2)}, RUN)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x"]


def test_a_missing_file(tmp_path):
    assert str(tmp_path / "x") in failure(tmp_path / "x", RUN)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    message = failure(tmp_path / "x", RUN)
    assert "Success" not in message
    assert "cannot write" not in message

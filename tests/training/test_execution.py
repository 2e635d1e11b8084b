"""Devices are resolved or refused in one line; the plain path is float32 and eager."""

import ctypes
import json

import pytest
import torch

from recombine.errors import UserError
from recombine.training import execution
from recombine.training.execution import Execution, keep_freed_memory, resolve_device


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(execution, "_may_have_gpu", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def refusal(device):
    with pytest.raises(UserError) as caught:
        resolve_device(device)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2
    return str(caught.value)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu():
    assert resolve_device("auto") == "cpu"
    assert resolve_device("cpu") == "cpu"
    for device in ("cuda", "cuda:0", "cuda:7"):
        assert "--device cpu" in refusal(device)
    with pytest.raises(UserError, match="no GPU"):
        Execution.fastest("cuda")
    with pytest.raises(UserError, match="no GPU"):
        Execution.plain("cuda")


@pytest.mark.usefixtures("two_gpus")
def test_with_two_gpus():
    assert resolve_device("auto") == "cuda"
    assert resolve_device("cuda:1") == "cuda:1"
    assert resolve_device("cpu") == "cpu"
    assert "this machine has 2 GPU(s)" in refusal("cuda:2")
    assert Execution.fastest() == Execution("cuda", "bfloat16", channels_last=True, compile=True, graphs=True)
    assert Execution.plain("cuda:1") == Execution("cuda:1")


@pytest.mark.parametrize("device", ["gpu", "mps", "", "cuda:x", "cuda:-1", "CPU", "cuda0"])
def test_unknown_devices(device):
    assert f"unknown device '{device}': use auto, cpu, cuda or cuda:N" == refusal(device)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("device", ["cpu:", "cuda:"])
def test_a_device_without_its_number(device):
    assert refusal(device).startswith(f"unknown device '{device}'")


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("hardware", [True, False])
def test_bfloat16_on_a_cpu_only_in_hardware(monkeypatch, hardware):
    monkeypatch.setattr(execution, "_cpu_has_bfloat16", lambda: hardware)
    chosen = Execution.fastest("auto", threads=3)
    assert chosen == Execution("cpu", "bfloat16" if hardware else "float32", channels_last=True, threads=3)


@pytest.mark.usefixtures("no_gpu")
def test_plain_is_float32_and_eager():
    plain = Execution.plain(threads=2)
    assert plain == Execution("cpu", "float32", channels_last=False, compile=False, graphs=False, threads=2)


def test_execution_survives_json():
    one = Execution("cpu", "bfloat16", channels_last=True, threads=2)
    assert Execution(**json.loads(json.dumps(one.asdict()))) == one


def test_asking_the_cpu_about_bfloat16_is_harmless():
    assert execution._cpu_has_bfloat16() in (True, False)


def test_keeping_memory_is_harmless(monkeypatch):
    keep_freed_memory()
    assert torch.ones(1 << 20).sum().item() == 1 << 20  # memory can still be had and given back

    def absent(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    keep_freed_memory()  # not glibc
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    keep_freed_memory()  # a libc without mallopt

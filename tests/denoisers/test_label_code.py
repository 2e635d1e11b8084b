"""Codes of labels: scaled as EDM2 does, or blurred, without loss."""

import pytest
import torch

from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.label_code import CodedNetwork, code_matrix
from recombine.denoisers.unet import UNet
from recombine.errors import UserError
from recombine.worlds.scenes.labels import LabelConfig

GRID = LabelConfig(grid=4)


def test_a_scaled_label_has_mean_square_one() -> None:
    one_hot = torch.eye(16)
    assert torch.allclose((one_hot @ code_matrix(GRID, "scaled")).square().mean(1), torch.ones(16))


def test_a_blurred_label_is_symmetric_falls_with_distance_and_loses_nothing() -> None:
    code = code_matrix(GRID, "blurred")
    assert torch.equal(code, code.T)
    here, beside, diagonal, far = code[5, 5], code[5, 6], code[5, 10], code[5, 7]
    assert here > beside > diagonal > far > 0
    assert torch.linalg.matrix_rank(code.double()) == 16
    assert torch.allclose(code[5:7].square().mean(1).max(), torch.tensor(1.0), atol=0.05)


def test_the_network_hears_the_coded_label() -> None:
    inner = UNet(UNetConfig(channels=8, multipliers=(1,)), (3, 8, 8), (16,))
    x, level, label = torch.randn(2, 3, 8, 8), torch.zeros(2), torch.eye(16)[:2]
    coded = CodedNetwork(inner, GRID, "scaled")
    assert torch.equal(coded(x, level, label), inner(x, level, 4 * label))
    with pytest.raises(UserError, match="give it one"):
        coded(x, level)


def test_a_list_cannot_be_blurred() -> None:
    with pytest.raises(UserError, match=r"labels\.form"):
        code_matrix(LabelConfig(form="list"), "blurred")


def test_a_whole_label_has_no_windows() -> None:
    with pytest.raises(UserError, match="code = 'scaled'"):
        code_matrix(LabelConfig(), "window")

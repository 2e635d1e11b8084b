import pytest
import torch
from torch import Tensor

from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.denoisers.local_score import AddedScores, LocalScoreDenoiser
from recombine.errors import UserError


def noisy(images: Tensor, sigma: float) -> tuple[Tensor, Tensor]:
    noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(1))
    return images + sigma * noise, torch.full((len(images),), sigma)


def training_set(count: int = 40, side: int = 6) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(count, 1, side, side, generator=generator), torch.rand(count, 2, generator=generator)


def test_a_patch_as_large_as_the_image_is_the_exact_denoiser_at_the_middle() -> None:
    """Around the middle pixel the patch is the whole image, so both give the same posterior mean there."""
    images, conditions = training_set(side=5)
    local_score = LocalScoreDenoiser(images, conditions, patch=5, kernel_width=0.3, chunk=7)
    whole = EmpiricalDenoiser(images, conditions, kernel_width=0.3)
    for sigma in (0.3, 1.0, 3.0):
        x, level = noisy(images[:8], sigma)
        local, exact = (d.denoise(x, level, conditions[:8]) for d in (local_score, whole))
        assert torch.allclose(local[:, :, 2, 2], exact[:, :, 2, 2], atol=1e-4)
    assert not torch.allclose(local, exact, atol=1e-2)  # at the edge it sees less


def test_a_patch_of_one_pixel_knows_nothing_of_its_neighbours() -> None:
    images, conditions = training_set()
    local_score = LocalScoreDenoiser(images, conditions, patch=1, kernel_width=10.0)
    x, level = noisy(images[:4], 0.5)
    other = x.clone()
    other[:, :, 0, 0] += 5
    before, after = (local_score.denoise(given, level, conditions[:4]) for given in (x, other))
    assert torch.equal(before[:, :, 1:, 1:], after[:, :, 1:, 1:])
    assert not torch.allclose(before[:, :, 0, 0], after[:, :, 0, 0])


def test_the_size_of_chunks_changes_nothing() -> None:
    images, conditions = training_set()
    x, level = noisy(images[:4], 0.7)
    found = [
        LocalScoreDenoiser(images, conditions, patch=3, chunk=chunk).denoise(x, level, conditions[:4])
        for chunk in (1, 13, 100)
    ]
    assert torch.allclose(found[0], found[1], atol=1e-5)
    assert torch.allclose(found[0], found[2], atol=1e-5)


def test_matching_either_number_puts_rows_and_columns_together() -> None:
    """Training images: a dark row or a dark column. Asked for a row and a column never seen together."""
    rows, columns, conditions = [], [], []
    for place in range(6):
        row, column = torch.ones(6, 6), torch.ones(6, 6)
        row[place], column[:, place] = -1, -1
        rows.append(row)
        columns.append(column)
    images = torch.stack([*rows, *columns])[:, None]
    conditions = torch.tensor([[-50.0, y] for y in range(6)] + [[x, -50.0] for x in range(6)])
    asked = torch.tensor([[2.0, 4.0]])
    either = LocalScoreDenoiser(images, conditions, patch=1, kernel_width=0.05, match="either")
    x, level = torch.ones(1, 1, 6, 6), torch.tensor([20.0])
    guess = either.denoise(x, level, asked)[0, 0]
    assert guess[4, 0].item() == pytest.approx(0, abs=0.1)  # half of the images that match have the row
    assert guess[0, 2].item() == pytest.approx(0, abs=0.1)
    assert guess[0, 0].item() == pytest.approx(1, abs=0.1)


def test_added_scores_are_the_sum_of_what_each_part_says() -> None:
    images, conditions = training_set()
    parts = [EmpiricalDenoiser(images, conditions[:, k : k + 1], kernel_width=0.2) for k in range(2)]
    whole = EmpiricalDenoiser(images)
    x, level = noisy(images[:3], 1.0)
    found = AddedScores(*parts, whole).denoise(x, level, conditions[:3])
    expected = sum(part.denoise(x, level, conditions[:3, k : k + 1]) for k, part in enumerate(parts))
    assert torch.allclose(found, expected - whole.denoise(x, level, None))


def test_where_the_condition_says_nothing_adding_scores_changes_nothing() -> None:
    images, _ = training_set()
    same = torch.zeros(len(images), 1)
    part, whole = EmpiricalDenoiser(images, same, kernel_width=1.0), EmpiricalDenoiser(images)
    x, level = noisy(images[:3], 1.0)
    found = AddedScores(part, part, whole).denoise(x, level, torch.zeros(3, 2))
    assert torch.allclose(found, whole.denoise(x, level, None), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"patch": 4}, "odd patch"), ({"kernel_width": 0.0}, "width above 0"), ({"patch": 0}, "odd patch")],
)
def test_bad_settings_get_one_line(settings: dict[str, float], says: str) -> None:
    with pytest.raises(UserError, match=says):
        LocalScoreDenoiser(*training_set(), **settings)  # type: ignore[arg-type]


def test_bad_input_gets_one_line() -> None:
    local_score = LocalScoreDenoiser(*training_set())
    with pytest.raises(UserError, match="condition of 2 numbers"):
        local_score.denoise(torch.zeros(1, 1, 6, 6), torch.ones(1), None)
    with pytest.raises(UserError, match="x has shape"):
        local_score.denoise(torch.zeros(1, 1, 5, 5), torch.ones(1), torch.zeros(1, 2))
    with pytest.raises(UserError, match="more than 1 numbers"):
        AddedScores(local_score, local_score, local_score).denoise(
            torch.zeros(1, 1, 6, 6), torch.ones(1), torch.zeros(1, 1)
        )

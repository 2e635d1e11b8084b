"""Schedules against diffusers, and the identities that every grid and drawer must keep."""

import diffusers
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from recombine.diffusion.schedules import CosineSchedule, EDMSchedule, LinearSchedule, Schedule
from recombine.errors import UserError
from recombine.settings import Settings, build

DISCRETE = [LinearSchedule(), LinearSchedule(steps=1000), CosineSchedule(), CosineSchedule(steps=50)]


class Holder(Settings):
    schedule: Schedule = LinearSchedule()


def test_linear_table_equals_diffusers():
    theirs = diffusers.DDPMScheduler(500, beta_start=1e-4, beta_end=0.02, beta_schedule="linear").alphas_cumprod
    ours = 1 / (1 + LinearSchedule().table() ** 2)
    torch.testing.assert_close(ours, theirs.double(), rtol=1e-5, atol=0)


def test_cosine_table_equals_diffusers():
    theirs = diffusers.DDPMScheduler(1000, beta_schedule="squaredcos_cap_v2").alphas_cumprod
    ours = 1 / (1 + CosineSchedule().table() ** 2)
    torch.testing.assert_close(ours, theirs.double(), rtol=2e-5, atol=0)


def test_cleanest_step_keeps_its_digits():
    # sigma_1^2 = beta_1 / (1 - beta_1); 1 / alpha_bar - 1 in floating point would lose half of them
    schedule = LinearSchedule(beta_start=1e-12)
    assert float(schedule.table()[0]) == pytest.approx(1e-6, rel=1e-12)


@pytest.mark.parametrize("schedule", DISCRETE)
def test_table_ascends_and_start_scale_is_that_of_the_vp_state(schedule):
    table = schedule.table()
    assert table.dtype == torch.float64
    assert len(table) == schedule.steps
    assert (table.diff() > 0).all()
    alpha_bar = torch.prod(1 - schedule.betas())
    assert schedule.start_scale * float(alpha_bar.sqrt()) == pytest.approx(1.0, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(steps=st.integers(1, 300), data=st.data(), spacing=st.sampled_from(["steps", "rho"]))
def test_grids_descend_strictly_to_zero_and_keep_both_ends(steps, data, spacing):
    schedule = LinearSchedule(steps=steps)
    # a one-step schedule has one sigma, which no finer grid can divide
    count = data.draw(st.integers(1, steps))
    grid, table = schedule.sigmas(count, spacing), schedule.table()
    assert grid.dtype == torch.float64
    assert grid.shape == (count + 1,)
    assert (grid.diff() < 0).all()
    assert grid[-1] == 0
    assert float(grid[0]) == pytest.approx(float(table[-1]), rel=1e-12)
    if count >= 2:
        assert float(grid[-2]) == pytest.approx(float(table[0]), rel=1e-12)
    if spacing == "steps":
        assert torch.isin(grid[:-1], table).all()


def test_all_steps_is_the_whole_table():
    schedule = LinearSchedule()
    assert torch.equal(schedule.sigmas(500, "steps")[:-1], schedule.table().flip(0))


def test_step_subset_equals_diffusers_linspace():
    theirs = diffusers.DDPMScheduler(1000, timestep_spacing="linspace")
    theirs.set_timesteps(30)
    schedule = LinearSchedule(steps=1000)
    assert torch.equal(schedule.sigmas(30, "steps")[:-1], schedule.table()[theirs.timesteps])


def test_rho_grids_equal_diffusers():
    theirs = diffusers.EulerDiscreteScheduler(500, use_karras_sigmas=True)
    theirs.set_timesteps(25)
    ours = LinearSchedule(beta_start=1e-4, beta_end=0.02).sigmas(25, "rho")
    torch.testing.assert_close(ours, theirs.sigmas.double(), rtol=1e-4, atol=0)  # their sigma_min is a float32 1 - ab

    edm = diffusers.EDMEulerScheduler(sigma_min=0.002, sigma_max=80.0, rho=7.0)
    edm.set_timesteps(18)
    for spacing in ("steps", "rho"):
        torch.testing.assert_close(EDMSchedule().sigmas(18, spacing), edm.sigmas.double(), rtol=1e-5, atol=0)


@pytest.mark.parametrize("schedule", DISCRETE)
def test_discrete_drawer_gives_each_step_its_share(schedule):
    steps = schedule.steps
    u = (torch.arange(steps * 4).double() + 0.5) / (steps * 4)
    drawn = schedule.drawer("cpu")(u.float())
    assert drawn.dtype == torch.float32
    assert torch.equal(drawn, schedule.table().float().repeat_interleave(4))


def test_discrete_drawer_holds_at_the_edges():
    draw, table = LinearSchedule().drawer("cpu"), LinearSchedule().table().float()
    drawn = draw(torch.tensor([1e-9, 1 - 2**-24, 1.0]))
    assert torch.equal(drawn, table[[0, -1, -1]])


def test_edm_drawer_is_the_log_normal_quantile():
    u = torch.linspace(0.001, 0.999, 301)
    drawn = EDMSchedule().drawer("cpu")(u)
    expected = stats.lognorm(s=1.2, scale=np.exp(-1.2)).ppf(u.double().numpy())
    assert drawn.dtype == torch.float32
    np.testing.assert_allclose(drawn.double().numpy(), expected, rtol=1e-5)
    assert torch.isfinite(EDMSchedule().drawer("cpu")(torch.tensor([0.0, 1.0]))).all()


@pytest.mark.parametrize("schedule", [LinearSchedule(), EDMSchedule()])
def test_drawer_traces_whole(schedule):
    draw = schedule.drawer("cpu")
    u = torch.rand(16, generator=torch.Generator().manual_seed(0))
    whole = torch.compile(draw, backend="eager", fullgraph=True)
    assert torch.equal(whole(u), draw(u))


def test_start_scale_of_edm_is_its_largest_sigma():
    assert EDMSchedule(sigma_max=50).start_scale == 50


def test_tag_picks_the_schedule():
    assert build(Holder, {"schedule": {"kind": "ddpm-cosine", "steps": 10}}).schedule == CosineSchedule(steps=10)
    with pytest.raises(UserError, match="beta_end") as caught:
        build(Holder, {"schedule": {"kind": "ddpm-linear", "beta_ends": 1}})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (LinearSchedule, {"steps": 0}),
        (LinearSchedule, {"beta_start": 0.02, "beta_end": 0.02}),
        (LinearSchedule, {"beta_start": 0.0}),
        (CosineSchedule, {"max_beta": 1.0}),
        (EDMSchedule, {"sigma_min": 1.0, "sigma_max": 1.0}),
        (EDMSchedule, {"rho": 0.0}),
    ],
)
def test_bad_values_are_one_line(kind, wrong):
    with pytest.raises(ValidationError):
        kind(**wrong)
    with pytest.raises(UserError) as caught:
        build(kind, wrong)
    assert "\n" not in str(caught.value)
    assert next(iter(wrong)) in str(caught.value)


@pytest.mark.parametrize("schedule", [LinearSchedule(steps=10), EDMSchedule()])
def test_bad_grids_are_refused(schedule):
    with pytest.raises(UserError, match="at least 1"):
        schedule.sigmas(0, "rho")
    with pytest.raises(UserError, match="no spacing"):
        schedule.sigmas(5, "log")


def test_more_sampler_steps_than_schedule_steps_is_refused():
    with pytest.raises(UserError, match="10 or fewer"):
        LinearSchedule(steps=10).sigmas(11, "steps")
    assert len(LinearSchedule(steps=10).sigmas(11, "rho")) == 12

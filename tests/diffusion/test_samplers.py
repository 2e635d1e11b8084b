"""Samplers step by step against diffusers, and `sample` on an exact mixture."""

import diffusers
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import seeds
from recombine.denoisers.exact import MixtureDenoiser
from recombine.denoisers.network import DiscreteStepDenoiser
from recombine.diffusion import samplers
from recombine.diffusion.samplers import SamplerConfig, ancestral, ddim, euler, heun, multistep, sample
from recombine.diffusion.schedules import CosineSchedule, EDMSchedule, LinearSchedule
from recombine.errors import UserError
from recombine.settings import build

SHAPE = (3, 4, 5)
SCHEDULE = LinearSchedule(steps=100)
METHODS = ["ancestral", "ddim", "euler", "heun", "multistep"]


def toy_noise(x_vp, step, condition=None):
    """A fixed, smooth noise predictor of the variance-preserving state at a discrete step."""
    phase = (torch.as_tensor(step, dtype=torch.float64) / 30).reshape(-1, 1, 1, 1)
    return torch.tanh(1.5 * x_vp + 0.3 * x_vp.roll(1, -1) + torch.sin(phase)) * 0.9


def standard_normals(seed, count):
    generator = torch.Generator().manual_seed(seed)
    # one call for each, as a scheduler would make them
    return [torch.randn(2, *SHAPE, generator=generator, dtype=torch.float64) for _ in range(count)]


def assert_same(ours, theirs, rtol=1e-9):
    assert ours.shape == theirs.shape
    assert ours.isfinite().all()
    largest = theirs.abs().amax()
    assert float((ours - theirs).abs().max() / largest) < rtol


def in_double(scheduler):
    """Give a diffusers scheduler our table of alpha_bar, so that the comparison is one of samplers, in float64."""
    scheduler.betas = SCHEDULE.betas()
    scheduler.alphas = 1 - scheduler.betas
    scheduler.alphas_cumprod = 1 / (1 + SCHEDULE.table() ** 2)
    return scheduler


class Trajectory(list):
    """A callback that keeps every state it is shown."""

    def __call__(self, step, sigma, x, x0):
        assert step == len(self)
        self.append((sigma, x, x0))


@pytest.mark.parametrize("variance", ["beta", "posterior"])
@pytest.mark.parametrize("count", [100, 25, 2])
def test_ancestral_equals_diffusers_ddpm(variance, count):
    kind = {"beta": "fixed_large", "posterior": "fixed_small"}[variance]
    scheduler = in_double(
        diffusers.DDPMScheduler(100, variance_type=kind, clip_sample=False, timestep_spacing="linspace")
    )
    scheduler.set_timesteps(count)
    table = SCHEDULE.table()
    sigmas = torch.cat([table[scheduler.timesteps], table.new_zeros(1)])
    start, drawn, seen = standard_normals(0, 1)[0], standard_normals(1, count), Trajectory()
    ours = ancestral(
        DiscreteStepDenoiser(toy_noise, table).denoise,
        start * SCHEDULE.start_scale,
        sigmas,
        noise=lambda step: drawn[step],
        variance=variance,
        callback=seen,
    )
    x, generator = start, torch.Generator().manual_seed(1)
    for (sigma, shown, shown_x0), step in zip(seen, scheduler.timesteps.tolist(), strict=True):
        assert_same(shown / (1 + sigma**2) ** 0.5, x)
        output = scheduler.step(toy_noise(x, step), step, x, generator=generator)
        assert_same(shown_x0, output.pred_original_sample)
        x = output.prev_sample
    assert_same(ours, x)


@pytest.mark.parametrize("eta", [0.0, 0.7, 1.0])
def test_ddim_equals_diffusers(eta):
    scheduler = in_double(diffusers.DDIMScheduler(100, clip_sample=False, timestep_spacing="leading"))
    scheduler.set_timesteps(20)
    table = SCHEDULE.table()
    sigmas = torch.cat([table[scheduler.timesteps], table.new_zeros(1)])
    start, drawn, seen = standard_normals(0, 1)[0], standard_normals(1, 20), Trajectory()
    denoise = DiscreteStepDenoiser(toy_noise, table).denoise
    scale = (1 + sigmas[0] ** 2).sqrt()
    ours = ddim(denoise, start * scale, sigmas, noise=lambda step: drawn[step], eta=eta, callback=seen)
    x = start
    for (sigma, shown, _), step, z in zip(seen, scheduler.timesteps.tolist(), drawn, strict=True):
        assert_same(shown / (1 + sigma**2) ** 0.5, x)
        x = scheduler.step(toy_noise(x, step), step, x, eta=eta, variance_noise=z if eta else None).prev_sample
    assert_same(ours, x)


def walk_in_sigma(scheduler, eps, x):
    """A diffusers scheduler that works on x (not the VP state), driven by a noise predictor eps(x_vp, sigma)."""
    for step in scheduler.timesteps:
        x_vp = scheduler.scale_model_input(x, step)
        sigma = scheduler.sigmas[scheduler.step_index]
        x = scheduler.step(eps(x_vp, sigma), step, x).prev_sample
    return x


def smooth_noise(x_vp, sigma):
    return toy_noise(x_vp.double(), 40 + 12 * torch.as_tensor(sigma, dtype=torch.float64).log())


def smooth_denoise(x, sigma, condition):
    level = sigma[:, None, None, None]
    return x - level * smooth_noise(x / (1 + level**2).sqrt(), sigma)


@pytest.mark.parametrize("karras", [False, True])
@pytest.mark.parametrize(
    ("sampler", "library", "rtol"),
    [(euler, diffusers.EulerDiscreteScheduler, 1e-5), (heun, diffusers.HeunDiscreteScheduler, 1e-9)],
)
def test_ode_samplers_equal_diffusers(sampler, library, rtol, karras):
    scheduler = library(100, beta_start=1e-4, beta_end=0.02, use_karras_sigmas=karras)
    scheduler.set_timesteps(15)
    scheduler.sigmas = scheduler.sigmas.double()  # Euler's sample stays float32, whatever it is given
    sigmas = scheduler.sigmas.unique().flip(0)  # Heun's scheduler lists the inner ones twice
    assert len(sigmas) == 16
    x = standard_normals(0, 1)[0] * sigmas[0]
    assert_same(sampler(smooth_denoise, x, sigmas), walk_in_sigma(scheduler, smooth_noise, x).double(), rtol)


@pytest.mark.parametrize("karras", [False, True])
@pytest.mark.parametrize("count", [6, 25])
def test_multistep_equals_diffusers(count, karras):
    scheduler = diffusers.DPMSolverMultistepScheduler(
        100,
        beta_start=1e-4,
        beta_end=0.02,
        algorithm_type="dpmsolver++",
        solver_order=2,
        solver_type="midpoint",
        final_sigmas_type="zero",
        lower_order_final=True,
        use_karras_sigmas=karras,
    )
    scheduler.set_timesteps(count)
    scheduler.sigmas = scheduler.sigmas.double()
    start = standard_normals(0, 1)[0]
    ours = multistep(smooth_denoise, start * (1 + scheduler.sigmas[0] ** 2).sqrt(), scheduler.sigmas)
    x = start
    for index, step in enumerate(scheduler.timesteps):  # this scheduler keeps the VP state, in float32
        x = scheduler.step(smooth_noise(x, scheduler.sigmas[index]), step, x).prev_sample
    assert_same(ours, x.double(), 1e-5)


@settings(max_examples=15, deadline=None)
@given(count=st.integers(1, 30), spacing=st.sampled_from(["steps", "rho"]))
def test_ddim_without_fresh_noise_is_euler(count, spacing):
    sigmas = SCHEDULE.sigmas(count, spacing)
    x = standard_normals(0, 1)[0] * SCHEDULE.start_scale
    assert_same(ddim(smooth_denoise, x, sigmas), euler(smooth_denoise, x, sigmas))


@settings(max_examples=15, deadline=None)
@given(count=st.integers(1, 30))
def test_ddim_with_all_noise_fresh_is_ancestral_with_posterior_variance(count):
    sigmas, drawn = SCHEDULE.sigmas(count, "steps"), standard_normals(1, count)
    x = standard_normals(0, 1)[0] * SCHEDULE.start_scale
    one = ddim(smooth_denoise, x, sigmas, eta=1.0, noise=lambda step: drawn[step])
    assert_same(one, ancestral(smooth_denoise, x, sigmas, variance="posterior", noise=lambda step: drawn[step]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_config_counts_network_calls(method, steps):
    calls = []

    def denoise(x, sigma, condition):
        assert sigma.shape == (len(x),)
        calls.append(sigma)
        return x * 0

    config = SamplerConfig(method=method, steps=steps, eta=0.5)
    sample(denoise, config, SCHEDULE, SHAPE, None, seeds.keys(0, "samples", torch.arange(2)))
    assert len(calls) == config.calls == samplers.CALLS[method] * (steps - 1) + 1


def test_default_sampler_costs_fifty_calls_at_most():
    assert SamplerConfig().calls <= 50


@pytest.fixture(scope="module")
def mixture():
    """Six pictures, some spread around each; the condition picks one of them."""
    generator = torch.Generator().manual_seed(5)
    means = torch.where(torch.rand(6, *SHAPE, generator=generator) < 0.5, -0.7, 0.7)
    return MixtureDenoiser(means, torch.full((6,), 0.1**2))


@pytest.mark.parametrize("schedule", [LinearSchedule(), CosineSchedule(), EDMSchedule()], ids=lambda s: s.kind)
@pytest.mark.parametrize("method", METHODS)
def test_image_is_the_same_in_any_batch(mixture, method, schedule):
    config = SamplerConfig(method=method, steps=6, eta=0.5)
    key, condition = seeds.keys(3, "samples", torch.arange(7)), torch.eye(6)[[0, 1, 2, 3, 4, 5, 0]]
    whole = sample(mixture.denoise, config, schedule, SHAPE, condition, key)
    assert whole.shape == (7, *SHAPE)
    assert whole.dtype == torch.float32
    assert float(whole.abs().max()) <= 1
    picked = torch.tensor([5, 2])
    torch.testing.assert_close(
        sample(mixture.denoise, config, schedule, SHAPE, condition[picked], key[picked]), whole[picked]
    )
    assert not torch.allclose(whole[0], whole[6])  # the same condition, another key


def test_only_stochastic_samplers_draw_after_the_start(mixture):
    """Noise enters through lane 0 and, for stochastic samplers, one lane a step but the last."""
    key, lanes = seeds.keys(3, "samples", torch.arange(2)), []

    def normal(key, shape=(), lane=0):
        lanes.append(lane)
        return torch.zeros(len(key), *shape)

    expected = {"ancestral": [0, 1, 2, 3], "ddim": [0, 1, 2, 3], "euler": [0], "heun": [0], "multistep": [0]}
    for method, drawn in expected.items():
        lanes.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(seeds, "normal", normal)
            config = SamplerConfig(method=method, steps=4, eta=1.0)
            sample(mixture.denoise, config, SCHEDULE, SHAPE, None, key)
        assert lanes == drawn


@pytest.mark.parametrize(
    ("n", "config", "off"),
    [
        (400, SamplerConfig(method="multistep", steps=24), 0.04),
        (100, SamplerConfig(method="ancestral", steps=500, spacing="steps"), 0.04),
        (400, SamplerConfig(), 0.2),  # few steps with the posterior's variance are too narrow
    ],
)
def test_samples_have_the_moments_of_the_prompted_component(mixture, n, config, off):
    key, condition = seeds.keys(3, "samples", torch.arange(n)), torch.eye(6)[:1].expand(n, -1)
    drawn = sample(mixture.denoise, config, LinearSchedule(), SHAPE, condition, key)
    mean = mixture.means[0].reshape(SHAPE).float()
    assert float((drawn.mean(0) - mean).abs().max()) < 5 * 0.1 / n**0.5  # five standard errors
    assert float((drawn - mean).square().mean().sqrt()) == pytest.approx(0.1, rel=off)


def test_unconditional_samples_visit_components_by_weight(mixture):
    weights = torch.tensor([0.5, 0.3, 0.2, 0, 0, 0])
    weighted = MixtureDenoiser(mixture.means.reshape(6, *SHAPE), mixture.variances, weights)
    key = seeds.keys(3, "samples", torch.arange(1000))
    drawn = sample(weighted.denoise, SamplerConfig(), LinearSchedule(), SHAPE, None, key)
    nearest = torch.cdist(drawn.flatten(1).double(), mixture.means).argmin(1)
    share = torch.bincount(nearest, minlength=6) / 1000
    torch.testing.assert_close(share, weights, atol=0.06, rtol=0)


def test_sample_leaves_no_graph_and_clamps():
    bias = torch.full((), 3.0, requires_grad=True)
    key = seeds.keys(0, "samples", torch.arange(2))
    drawn = sample(lambda x, sigma, condition: x * 0 + bias, SamplerConfig(), SCHEDULE, SHAPE, None, key)
    assert not drawn.requires_grad
    assert torch.equal(drawn, torch.ones(2, *SHAPE))


def test_callback_of_sample_sees_the_start_and_every_sigma(mixture):
    seen, key = Trajectory(), seeds.keys(0, "samples", torch.arange(2))
    config = SamplerConfig(steps=5)
    sample(mixture.denoise, config, SCHEDULE, SHAPE, None, key, callback=seen)
    assert [sigma for sigma, _, _ in seen] == SCHEDULE.sigmas(5, "rho")[:-1].tolist()
    torch.testing.assert_close(seen[0][1], seeds.normal(key, SHAPE) * SCHEDULE.start_scale)


def test_wrong_use_is_refused(mixture):
    key, x = seeds.keys(0, "samples", torch.arange(2)), torch.zeros(2, *SHAPE)
    with pytest.raises(UserError, match="one condition for each"):
        sample(mixture.denoise, SamplerConfig(), SCHEDULE, SHAPE, torch.eye(6), key)
    with pytest.raises(UserError, match="100 or fewer"):
        sample(mixture.denoise, SamplerConfig(steps=101, spacing="steps"), SCHEDULE, SHAPE, None, key)
    for grid in ([0.1, 1.0, 0.0], [1.0], [1.0, 1.0, 0.0], [1.0, -1.0]):
        with pytest.raises(UserError, match="fall strictly"):
            euler(mixture.denoise, x, torch.tensor(grid))
    with pytest.raises(UserError, match="draws noise"):
        ddim(mixture.denoise, x, torch.tensor([1.0, 0.0]), eta=0.5)
    with pytest.raises(UserError, match="beta, posterior"):
        ancestral(mixture.denoise, x, torch.tensor([1.0, 0.5]), noise=lambda step: x, variance="learned")
    for wrong in ({"method": "plms"}, {"steps": 0}, {"eta": 2}, {"spacing": "log"}):
        with pytest.raises(UserError, match=next(iter(wrong))) as caught:
            build(SamplerConfig, wrong)
        assert "\n" not in str(caught.value)

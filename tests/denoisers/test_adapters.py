"""Pipelines of diffusers as Denoisers: the same answers as the library gives, every block recorded, and what is missing
from a folder named in one line.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from recombine.denoisers.adapters import (
    Pipeline,
    StepNetwork,
    load_pipeline,
    predicts_noise,
    recording,
    tiny_pipeline,
    transformer_blocks,
)
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.pipeline_files import check_folder
from recombine.diffusion.samplers import euler
from recombine.errors import UserError

diffusers = pytest.importorskip("diffusers")

PROMPTS = ["a dog", "a cat on the left", ""]


@pytest.fixture(scope="module")
def tiny() -> Pipeline:
    return tiny_pipeline(3)


def latents(count: int, seed: int = 0) -> Tensor:
    return torch.randn(count, 4, 32, 32, generator=torch.Generator().manual_seed(seed))


def network_of(pipeline: Pipeline) -> StepNetwork:
    assert isinstance(pipeline.denoiser.network, StepNetwork)
    return pipeline.denoiser.network


def test_conditions_are_packed_and_unpacked(tiny: Pipeline) -> None:
    condition = tiny.encode(PROMPTS)
    tokens, pooled, sizes = network_of(tiny).unpack(condition)
    assert tokens.shape == (3, 32, 64)
    assert pooled.shape == (3, 32)
    assert sizes.tolist() == [[64, 64, 0, 0, 64, 64]] * 3
    assert torch.equal(network_of(tiny).pack(tokens, pooled), condition)


def test_words_are_the_same_wherever_they_stand_and_in_any_batch(tiny: Pipeline) -> None:
    network = network_of(tiny)
    first, second = (network.unpack(tiny.encode([prompt]))[0][0] for prompt in ("a dog", "one fine dog"))
    assert torch.equal(first[2], second[3])
    assert torch.equal(tiny.encode(PROMPTS)[1:2], tiny.encode(PROMPTS[1:2]))
    assert not torch.equal(first, network.unpack(tiny_pipeline(4).encode(["a dog"]))[0][0])


@pytest.mark.parametrize("step", [0, 17, 500, 999])
@pytest.mark.parametrize("prediction", ["epsilon", "v_prediction", "sample"])
def test_the_answer_is_the_scheduler_s_own_x0(prediction: str, step: int) -> None:
    pipeline = tiny_pipeline(0, prediction=prediction)
    scheduler = diffusers.DDPMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", prediction_type=prediction,
        clip_sample=False,
    )  # fmt: skip
    x, condition = latents(2), pipeline.encode(PROMPTS[:2])
    alpha = scheduler.alphas_cumprod[step].sqrt()
    tokens, pooled, sizes = network_of(pipeline).unpack(condition)
    with torch.no_grad():
        said = (
            network_of(pipeline)
            .unet(alpha * x, step, tokens, added_cond_kwargs={"text_embeds": pooled, "time_ids": sizes})
            .sample
        )
    expected = scheduler.step(said, step, alpha * x).pred_original_sample
    found = pipeline.denoiser.denoise(x, pipeline.sigmas[step].float().expand(2), condition)
    assert torch.allclose(found, expected, atol=2e-4 * float(expected.abs().max()))


def test_no_condition_is_embeddings_of_zeros(tiny: Pipeline) -> None:
    x, sigma, network = latents(2), torch.tensor([0.5, 5.0]), network_of(tiny)
    zeros = network.pack(torch.zeros(2, 32, 64), torch.zeros(2, 32))
    assert torch.allclose(tiny.denoiser.denoise(x, sigma), tiny.denoiser.denoise(x, sigma, zeros), atol=1e-5)


def test_every_block_is_recorded_in_the_order_of_the_network(tiny: Pipeline) -> None:
    found: dict[str, tuple[int, ...]] = {}
    x, sigma, condition = latents(3), torch.ones(3), tiny.encode(PROMPTS)
    with recording(tiny.blocks, lambda name, hidden: found.update({name: tuple(hidden.shape)})):
        tiny.denoiser.denoise(x, sigma, condition)
    assert list(found) == list(tiny.blocks)
    assert [name.split("_")[0] for name in found] == ["down"] * 4 + ["mid"] * 2 + ["up"] * 6
    assert set(found.values()) == {(3, 256, 32)}
    found.clear()
    tiny.denoiser.denoise(x, sigma, condition)
    assert not found, "nothing is recorded any more"


def test_the_real_model_has_seventy_blocks() -> None:
    with torch.device("meta"):
        unet = diffusers.UNet2DConditionModel(
            sample_size=128, block_out_channels=(320, 640, 1280), layers_per_block=2, cross_attention_dim=2048,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 2, 10), attention_head_dim=(5, 10, 20), use_linear_projection=True,
            addition_embed_type="text_time", addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816,
        )  # fmt: skip
    names = list(transformer_blocks(unet))
    parts = ["down_blocks.1", "down_blocks.2", "mid_block", "up_blocks.0", "up_blocks.1"]
    assert [sum(name.startswith(part) for name in names) for part in parts] == [4, 20, 10, 30, 6]
    network = StepNetwork(unet, torch.tensor([0.1, 1.0]), (1024, 1024))
    assert (network.width, network.pooled) == (2048, 1280)


def test_gradients_reach_the_latents(tiny: Pipeline) -> None:
    x = latents(1).requires_grad_()
    answer = tiny.denoiser.denoise(x, torch.ones(1), tiny.encode(PROMPTS[:1]))
    (slope,) = torch.autograd.grad(answer[0, 0, 10, 20], x)
    assert slope.isfinite().all()
    assert slope.abs().sum() > 0


def test_the_decoder_doubles_the_side(tiny: Pipeline) -> None:
    assert tiny.decode(latents(2)).shape == (2, 3, 64, 64)


def test_wrong_conditions_are_one_line(tiny: Pipeline) -> None:
    with pytest.raises(UserError, match="64 for each token"):
        tiny.denoiser.denoise(latents(1), torch.ones(1), torch.zeros(1, 100))
    with pytest.raises(UserError, match="pooled embedding of 32"):
        network_of(tiny).pack(torch.zeros(1, 2, 64))
    with pytest.raises(UserError, match="at most 30"):
        tiny.encode(["word " * 31])


# --- folders ---------------------------------------------------------------------------------------------------------


def save_text_parts(folder: Path, pooled: int) -> dict[str, list[str]]:
    """Two small CLIP text encoders of random weights, and a tokenizer whose words are single letters."""
    transformers = pytest.importorskip("transformers")
    letters = [*"abcdefghijklmnopqrstuvwxyz"]
    names = [*letters, *(letter + "</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {name: number for number, name in enumerate(names)}
    for part in ("tokenizer", "tokenizer_2"):
        (folder / part).mkdir(parents=True)
        (folder / part / "vocab.json").write_text(json.dumps(vocabulary))
        (folder / part / "merges.txt").write_text("#version: 0.2\n")
        made = transformers.CLIPTokenizer(
            str(folder / part / "vocab.json"), str(folder / part / "merges.txt"), model_max_length=77
        )
        made.save_pretrained(folder / part)
    config = transformers.CLIPTextConfig(
        vocab_size=len(names), hidden_size=32, intermediate_size=37, num_hidden_layers=3, num_attention_heads=4,
        projection_dim=pooled, bos_token_id=len(names) - 2, eos_token_id=len(names) - 1, pad_token_id=len(names) - 1,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.CLIPTextModel(config).save_pretrained(folder / "text_encoder")
    transformers.CLIPTextModelWithProjection(config).save_pretrained(folder / "text_encoder_2")
    return {
        "tokenizer": ["transformers", "CLIPTokenizer"], "tokenizer_2": ["transformers", "CLIPTokenizer"],
        "text_encoder": ["transformers", "CLIPTextModel"],
        "text_encoder_2": ["transformers", "CLIPTextModelWithProjection"],
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole SDXL pipeline of random weights on disk."""
    place = tmp_path_factory.mktemp("pipeline")
    index: dict[str, Any] = {"_class_name": "StableDiffusionXLPipeline", "force_zeros_for_empty_prompt": True}
    index |= save_text_parts(place, 32)
    tiny = tiny_pipeline(0)
    network_of(tiny).unet.save_pretrained(place / "unet")
    tiny.vae.save_pretrained(place / "vae")
    scheduler = diffusers.DDIMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False,
        timestep_spacing="trailing", set_alpha_to_one=True,
    )  # fmt: skip
    scheduler.save_pretrained(place / "scheduler")
    index |= {
        "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"],
        "scheduler": ["diffusers", "DDIMScheduler"], "image_encoder": [None, None], "feature_extractor": [None, None],
    }  # fmt: skip
    (place / "model_index.json").write_text(json.dumps(index))
    return place


def test_a_folder_samples_as_the_library_does(folder: Path) -> None:
    pipeline = load_pipeline(folder)
    assert not pipeline.trained, "random weights on a disk are random weights"
    noise = latents(1, 5)
    theirs = diffusers.StableDiffusionXLPipeline.from_pretrained(folder, local_files_only=True)
    theirs.set_progress_bar_config(disable=True)
    expected = theirs(
        "a dog", num_inference_steps=5, guidance_scale=1.0, latents=noise.clone(), output_type="latent"
    ).images  # fmt: skip
    steps = theirs.scheduler.timesteps.tolist()
    sigmas = torch.cat([pipeline.sigmas[steps], torch.zeros(1)])
    start = noise * (1 + float(sigmas[0]) ** 2) ** 0.5
    with torch.no_grad():
        found = euler(pipeline.denoiser.denoise, start, sigmas, pipeline.encode(["a dog"]))
    assert torch.allclose(found, expected, atol=1e-3 * float(expected.abs().max()))


def test_saving_memory_changes_no_gradient(folder: Path) -> None:
    plain, saving = tiny_pipeline(0), load_pipeline(folder)  # the same U-Net; the loaded one computes blocks twice
    condition, slopes = plain.encode(["dog"]), []
    for pipeline in (plain, saving):
        x = latents(1).requires_grad_()
        answer = pipeline.denoiser.denoise(x, torch.full((1,), 3.0), condition)
        slopes += [torch.autograd.grad(answer[0, 0, 5, place], x, retain_graph=True)[0] for place in (4, 20)]
    assert torch.allclose(slopes[0], slopes[2], atol=1e-6)
    assert torch.allclose(slopes[1], slopes[3], atol=1e-6)


def test_half_precision_files_are_taken_where_there_are_no_others(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "half")
    for path in copy.rglob("*.safetensors"):
        path.rename(path.with_name(path.name.replace(".safetensors", ".fp16.safetensors")))
    pipeline, whole = load_pipeline(copy), load_pipeline(folder)
    assert torch.equal(pipeline.encode(["a dog"]), whole.encode(["a dog"]))


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("model_index.json", "model_index.json"),
        ("unet/config.json", "unet/config.json is missing"),
        ("unet/diffusion_pytorch_model.safetensors", "unet has no weights"),
        ("vae", "vae/config.json is missing"),
        ("text_encoder_2/model.safetensors", "text_encoder_2 has no weights"),
        ("tokenizer_2", "tokenizer_2/tokenizer_config.json is missing"),
        ("tokenizer/tokenizer.json tokenizer/vocab.json", "tokenizer has no vocabulary"),
        ("scheduler/scheduler_config.json", "scheduler_config.json is missing"),
    ],
)
def test_a_missing_part_is_named_in_one_line(folder: Path, tmp_path: Path, lost: str, said: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    for path in (copy / name for name in lost.split()):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    with pytest.raises(UserError, match=said) as found:
        load_pipeline(copy)
    assert "\n" not in str(found.value)


def test_pointers_of_git_lfs_are_no_weights(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "unet/diffusion_pytorch_model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(UserError, match="unet has no weights"):
        check_folder(copy)


@pytest.mark.parametrize("part", ["unet/diffusion_pytorch_model.safetensors", "text_encoder/model.safetensors"])
def test_damaged_weights_are_one_line(folder: Path, tmp_path: Path, part: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / part).write_bytes(b"x" * 5000)
    with pytest.raises(UserError, match="cannot be read") as found:
        load_pipeline(copy).encode(["a dog"])
    assert "\n" not in str(found.value)


def test_each_text_encoder_may_be_of_its_own_precision(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = copy / "text_encoder_2/model.safetensors"
    path.rename(path.with_name("model.fp16.safetensors"))
    assert torch.equal(load_pipeline(copy).encode(["a dog"]), load_pipeline(folder).encode(["a dog"]))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text_encoder_2": [None, None], "tokenizer_2": [None, None]}, "has no text_encoder_2"),
        ({"tokenizer_2": [None, None]}, "has no tokenizer_2"),
        ({"_class_name": "NoSuchPipeline"}, "cannot be read"),
        ({"_class_name": None}, "does not say which pipeline"),
        ({"vae": ["diffusers", "NoSuchModel"]}, "cannot be read"),
    ],
)
def test_a_wrong_index_is_one_line(folder: Path, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    index = json.loads((copy / "model_index.json").read_text())
    (copy / "model_index.json").write_text(json.dumps(index | changes))
    with pytest.raises(UserError, match=said) as found:
        load_pipeline(copy).encode(["a dog"])
    assert "\n" not in str(found.value)


class Answers(torch.nn.Module):
    """A network that predicts this share of the noise."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor | None) -> Tensor:
        return self.share * x


def test_trained_networks_tell_noise_and_random_ones_do_not(tiny: Pipeline) -> None:
    for share, trained in ((1.0, True), (0.9, True), (0.0, False), (-1.0, False)):
        assert predicts_noise(NetworkDenoiser(Answers(share), "noise"), 14.6, (4, 32, 32)) == trained
    assert not predicts_noise(tiny.denoiser, float(tiny.sigmas[-1]), tiny.latent_shape)
    assert not predicts_noise(NetworkDenoiser(Answers(1.0), "v"), 14.6, (4, 32, 32)), "of others it is not known"


def test_other_kinds_of_pipelines_are_refused(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    index = json.loads((copy / "model_index.json").read_text())
    (copy / "model_index.json").write_text(json.dumps({k: v for k, v in index.items() if k != "unet"}))
    with pytest.raises(UserError, match="has no unet"):
        check_folder(copy)
    with pytest.raises(UserError, match="no folder of a diffusers pipeline"):
        check_folder(tmp_path / "nowhere")

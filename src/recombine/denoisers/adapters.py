"""Text-to-image pipelines of `diffusers` as Denoisers of latents: SDXL, and others with a U-Net and CLIP encoders.

The condition of a pipeline is one flat tensor: the embeddings of the prompt's tokens, then, for SDXL, the pooled one
and the six numbers that state the size of the image. So instruments repeat, cut and exchange conditions without knowing
what is in them. A pipeline is read from a folder on this disk; nothing is downloaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from recombine import seeds
from recombine.denoisers.configs import Prediction
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.pipeline_files import ENCODERS, PARTS, WEIGHTS, check_folder, weight_variant
from recombine.errors import UserError

PREDICTIONS: dict[str, Prediction] = {"epsilon": "noise", "v_prediction": "v", "sample": "x0"}
SIZES = 6  # height and width of the original, top and left of the crop, height and width of the target
FAINTEST = 2.0**-24  # alpha_bar of a last step that is all noise, as diffusers' own samplers read it
EXPLAINED = 0.5  # of the variance of pure noise: a trained network predicts nearly all of it, a random one none
TINY_TOKENS, TINY_WIDTH, TINY_POOLED = 32, 64, 32


@dataclass(frozen=True)
class Pipeline:
    """A pipeline in the words of the house."""

    denoiser: NetworkDenoiser  # of latents
    sigmas: Tensor  # [T] of its steps, ascending, float64
    latent_shape: tuple[int, int, int]
    encode: Callable[[Sequence[str]], Tensor]  # prompts -> conditions [n, K]
    vae: nn.Module
    trained: bool  # the network predicts noise; not known, and so False, of one that predicts v or x0

    @torch.no_grad()
    def decode(self, latents: Tensor) -> Tensor:
        """The images that latents stand for, about -1 to 1.  # [n, c, h, w] -> [n, 3, H, W]"""
        vae: Any = self.vae
        images: Tensor = vae.decode(latents / vae.config.scaling_factor, return_dict=False)[0]
        return images

    @property
    def blocks(self) -> dict[str, nn.Module]:
        """Every BasicTransformerBlock by its name, in the order of the network: down, mid, up."""
        network = self.denoiser.network
        assert isinstance(network, StepNetwork)
        return transformer_blocks(network.unet)


class StepNetwork(nn.Module):
    """A U-Net of diffusers, which counts in steps, as the network of a `NetworkDenoiser`, which counts in log sigma.

    For any sigma the step closest in log sigma is used.
    """

    def __init__(self, unet: nn.Module, sigmas: Tensor, image_size: tuple[int, int]) -> None:
        super().__init__()
        self.unet = unet.eval().requires_grad_(False)
        config: Any = unet.config
        self.width = int(config.cross_attention_dim)
        self.sizes = SIZES if config.addition_embed_type == "text_time" else 0
        self.pooled = (
            config.projection_class_embeddings_input_dim - SIZES * config.addition_time_embed_dim if self.sizes else 0
        )
        self.size_numbers = (*image_size, 0, 0, *image_size)
        log_sigma = sigmas.log()
        self.borders: Tensor  # log sigma halfway between neighbours  # [T - 1]
        self.register_buffer("borders", ((log_sigma[1:] + log_sigma[:-1]) / 2).float(), persistent=False)

    def forward(self, x: Tensor, noise_level: Tensor, condition: Tensor | None) -> Tensor:
        """What the U-Net predicts of x [n, C, H, W], at log sigma / 4 [n]."""
        if condition is None:  # SDXL's null condition; older pipelines use the embedding of an empty prompt
            condition = self.pack(x.new_zeros(len(x), 1, self.width), x.new_zeros(len(x), self.pooled))
        tokens, pooled, numbers = self.unpack(condition)
        step = torch.bucketize(4 * noise_level.float(), self.borders)  # [n]
        beside = {"text_embeds": pooled, "time_ids": numbers} if self.sizes else None
        answer: Tensor = self.unet(x, step, tokens, added_cond_kwargs=beside, return_dict=False)[0]
        return answer

    def pack(self, tokens: Tensor, pooled: Tensor | None = None) -> Tensor:
        """Embeddings [n, T, width] (and pooled ones [n, P]) as flat conditions, the image size put in.  # [n, K]"""
        parts = [tokens.flatten(1)]
        if self.sizes:
            if pooled is None or pooled.shape != (len(tokens), self.pooled):
                raise UserError(f"this U-Net needs a pooled embedding of {self.pooled} numbers beside every prompt")
            parts += [pooled, tokens.new_tensor(self.size_numbers).expand(len(tokens), -1)]
        return torch.cat(parts, 1)

    def unpack(self, condition: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Token embeddings, pooled embedding and image size of flat conditions.  # [n, T, width], [n, P], [n, 6]"""
        beside = self.pooled + self.sizes
        length = condition.shape[1] - beside
        if length <= 0 or length % self.width:
            raise UserError(
                f"a condition of {condition.shape[1]} numbers: this U-Net needs {self.width} for each token "
                f"and {beside} beside"
            )
        flat, pooled, numbers = torch.split(condition, [length, self.pooled, self.sizes], 1)
        return flat.reshape(len(flat), -1, self.width), pooled, numbers


def transformer_blocks(unet: nn.Module) -> dict[str, nn.Module]:
    """Every BasicTransformerBlock by its name, in the order of the network: down, mid, up."""
    found = {name: part for name, part in unet.named_modules() if type(part).__name__ == "BasicTransformerBlock"}
    order = ("down", "mid", "up")
    ordered = {name: part for side in order for name, part in found.items() if name.startswith(side)}
    if not ordered:
        raise UserError("this U-Net has no BasicTransformerBlock: there are no hidden states to record")
    return ordered


@contextmanager
def recording(blocks: dict[str, nn.Module], record: Callable[[str, Tensor], None]) -> Iterator[None]:
    """While inside, `record(name, hidden states [n, tokens, width])` is called with the output of each block."""

    def hook(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        return lambda module, given, answer: record(name, answer)

    handles = [block.register_forward_hook(hook(name)) for name, block in blocks.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def load_pipeline(folder: Path, device: torch.device | str = "cpu") -> Pipeline:
    """The pipeline in this folder, in float32."""
    index = check_folder(folder)
    diffusers = _diffusers(prompts=True)
    place, variants = torch.device(device), {part: weight_variant(folder / part) for part in WEIGHTS if part in index}

    def read(kind: Any, part: str) -> Any:
        made = kind.from_pretrained(
            folder / part, local_files_only=True, low_cpu_mem_usage=False, variant=variants[part],
            dtype=torch.float32,
        )  # fmt: skip
        return made.to(place)

    with _readable(folder):
        steps = getattr(diffusers, index["scheduler"][1])
        scheduler = steps.from_pretrained(folder / "scheduler", local_files_only=True)
        unet, vae = read(diffusers.UNet2DConditionModel, "unet"), read(getattr(diffusers, index["vae"][1]), "vae")
    unet.enable_gradient_checkpointing()  # a backward pass at 1024 px would not fit otherwise

    def embed(prompts: Sequence[str]) -> tuple[Tensor, Tensor | None]:
        transformers = importlib.import_module("transformers")
        unneeded = ("unet", "vae", *(part for part in index if part not in PARTS))
        with _readable(folder):
            encoders = {part: read(getattr(transformers, index[part][1]), part) for part in index if part in ENCODERS}
            text = diffusers.DiffusionPipeline.from_pretrained(
                folder, local_files_only=True, low_cpu_mem_usage=False, **encoders, **dict.fromkeys(unneeded)
            )  # for as long as this function lasts
            found = text.encode_prompt(
                list(prompts), device=place, num_images_per_prompt=1, do_classifier_free_guidance=False
            )
        return found[0], found[2] if len(found) == 4 else None

    made = _assemble(unet, vae, scheduler, embed, place)
    return replace(made, trained=predicts_noise(made.denoiser, float(made.sigmas[-1]), made.latent_shape, place))


@torch.no_grad()
def predicts_noise(
    denoiser: NetworkDenoiser, sigma: float, shape: tuple[int, int, int], device: torch.device | str = "cpu"
) -> bool:
    """Whether a network of noise prediction recognises pure noise; random weights do not."""
    if denoiser.prediction != "noise":
        return False
    noise = seeds.normal(seeds.keys(0, "trained", torch.zeros(1)).to(device), shape)
    left = denoiser.denoise(sigma * noise, torch.full((1,), sigma, device=device)) / sigma  # what it does not explain
    return bool(left.square().mean() < (1 - EXPLAINED) * noise.square().mean())


def tiny_pipeline(
    seed: int = 0, device: torch.device | str = "cpu", prediction: str = "epsilon", widths: tuple[int, int] = (16, 32)
) -> Pipeline:
    """An SDXL pipeline of random weights, from configuration alone: the one of diffusers' tests, a little wider.

    It has no text encoder: every word has a random embedding, drawn by its letters and the seed, so no two words are
    related.
    """
    diffusers = _diffusers()
    with seeds.torch_seeded(seed):
        unet = diffusers.UNet2DConditionModel(
            sample_size=32, in_channels=4, out_channels=4, block_out_channels=widths, layers_per_block=2,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=(2, 4), norm_num_groups=2,
            use_linear_projection=True, transformer_layers_per_block=(1, 2), cross_attention_dim=TINY_WIDTH,
            addition_embed_type="text_time", addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=SIZES * 8 + TINY_POOLED,
        )  # fmt: skip
        vae = diffusers.AutoencoderKL(
            block_out_channels=(32, 64), in_channels=3, out_channels=3, latent_channels=4, sample_size=64,
            down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        )  # fmt: skip
    scheduler = diffusers.EulerDiscreteScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", prediction_type=prediction
    )
    place = torch.device(device)

    def embed(prompts: Sequence[str]) -> tuple[Tensor, Tensor]:
        tokens = [_padded(prompt) for prompt in prompts]
        words = sorted({word for row in tokens for word in row})
        keys = torch.cat([seeds.keys(seed, f"word {word}", torch.zeros(1)) for word in words]).to(place)
        vectors = seeds.normal(keys, (TINY_WIDTH + TINY_POOLED,))  # [words, width + pooled]
        rows = torch.tensor([[words.index(word) for word in row] for row in tokens], device=place)  # [n, T]
        sequence, beside = torch.split(vectors[rows], [TINY_WIDTH, TINY_POOLED], 2)
        return sequence, beside.mean(1) * TINY_TOKENS**0.5

    return _assemble(unet.to(place), vae.to(place), scheduler, embed, place)


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Whatever goes wrong inside is one line: a damaged file can raise almost anything."""
    try:
        yield
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise UserError(f"the pipeline in {folder} cannot be read ({reason}); download it again") from error


def _assemble(
    unet: Any,
    vae: Any,
    scheduler: Any,
    embed: Callable[[Sequence[str]], tuple[Tensor, Tensor | None]],
    device: torch.device,
) -> Pipeline:
    """A pipeline that counts as not trained until that is tested."""
    prediction = PREDICTIONS.get(str(getattr(scheduler.config, "prediction_type", "")))
    if prediction is None or not hasattr(scheduler, "alphas_cumprod"):
        raise UserError(f"the scheduler {type(scheduler).__name__} has no alphas, or predicts neither noise, v nor x0")
    if unet.config.in_channels != vae.config.latent_channels:
        raise UserError(
            f"the U-Net takes {unet.config.in_channels} channels and the VAE has {vae.config.latent_channels}: "
            "take a text-to-image pipeline, not one for inpainting"
        )
    vae.eval().requires_grad_(False)
    alpha_bar = scheduler.alphas_cumprod.double().cpu().clamp(min=FAINTEST)  # [T], falling
    sigmas = (1 / alpha_bar - 1).sqrt()
    sample_size = unet.config.sample_size
    height, width = (sample_size, sample_size) if isinstance(sample_size, int) else sample_size
    scale = 2 ** (len(vae.config.block_out_channels) - 1)
    network = StepNetwork(unet, sigmas, (height * scale, width * scale)).to(device)

    @torch.no_grad()
    def encode(prompts: Sequence[str]) -> Tensor:
        tokens, pooled = embed(prompts)
        return network.pack(tokens.float(), None if pooled is None else pooled.float())

    shape = (unet.config.in_channels, height, width)
    return Pipeline(NetworkDenoiser(network, prediction), sigmas, shape, encode, vae, trained=False)


def _padded(prompt: str) -> list[str]:
    """The words of a prompt between marks of begin and end, filled up with the latter."""
    words = ["<begin>", *prompt.lower().replace(",", " ").split(), "<end>"]
    if len(words) > TINY_TOKENS:
        raise UserError(f"a prompt of {len(words) - 2} words: the tiny pipeline takes at most {TINY_TOKENS - 2}")
    return words + ["<end>"] * (TINY_TOKENS - len(words))


def _diffusers(prompts: bool = False) -> Any:
    """The library, and the one that it reads prompts with; without its progress bars."""
    try:
        names = ("diffusers", "transformers") if prompts else ("diffusers",)
        libraries = [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise UserError(f"{error.name} is not installed: pip install 'recombine[sdxl]'") from None
    for library in libraries:
        library.utils.logging.disable_progress_bar()
    return libraries[0]

"""The folder of a diffusers pipeline: whether it is whole, and which files hold weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recombine.errors import UserError

POINTER = 1024  # bytes: a smaller file of weights is a pointer that Git LFS has not replaced
PARTS = {
    "unet": "config.json", "vae": "config.json", "scheduler": "scheduler_config.json",
    "text_encoder": "config.json", "tokenizer": "tokenizer_config.json",
    "text_encoder_2": "config.json", "tokenizer_2": "tokenizer_config.json",
}  # fmt: skip
WEIGHTS = ("unet", "vae", "text_encoder", "text_encoder_2")  # the parts that have some
WORDS = (("tokenizer.json",), ("vocab.json", "merges.txt"))  # the files of a tokenizer's vocabulary
ENCODERS = ("text_encoder", "text_encoder_2")


def check_folder(folder: Path) -> dict[str, Any]:
    """The index of a pipeline's folder; the first part that is missing is named in one line."""
    try:
        index: Any = json.loads((folder / "model_index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        index = None
    if not isinstance(index, dict):
        raise UserError(f"{folder} is no folder of a diffusers pipeline: it has no readable model_index.json")
    listed = {part: entry for part, entry in index.items() if isinstance(entry, list) and entry[:1] != [None]}
    kind = index.get("_class_name")
    if not isinstance(kind, str):
        raise UserError(f"{folder}/model_index.json does not say which pipeline it is (_class_name)")
    for part, name in PARTS.items():
        lost = None
        if part not in listed:
            if "XL" in kind or not part.endswith("_2"):
                raise UserError(
                    f"the pipeline in {folder}, {kind}, has no {part}: take one with a U-Net, VAE and text encoders"
                )
        elif not (folder / part / name).is_file():
            lost = f"{part}/{name} is missing"
        elif part in WEIGHTS and not weight_files(folder / part):
            lost = f"{part} has no weights (*.safetensors or *.bin, and no pointers of Git LFS)"
        elif part.startswith("tokenizer") and not any(
            all((folder / part / words).is_file() for words in files) for files in WORDS
        ):
            lost = f"{part} has no vocabulary (tokenizer.json, or vocab.json and merges.txt)"
        if lost:
            raise UserError(f"the pipeline in {folder} is not whole: {lost}; download it again")
    return listed


def weight_files(part: Path) -> list[Path]:
    """The files of weights in the folder of a part; pointers of Git LFS are none."""
    files = [path for ending in ("*.safetensors", "*.bin") for path in part.glob(ending)]
    return [path for path in files if path.stat().st_size >= POINTER]


def weight_variant(part: Path) -> str | None:
    """ "fp16" where there are only weights of that name, as many download them."""
    return "fp16" if all(".fp16" in path.name for path in weight_files(part)) else None

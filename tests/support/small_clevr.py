"""A small CLEVR in the real one's format, in both of its layouts."""

import json

import numpy as np
import torch
from PIL import Image

from recombine import seeds
from recombine.worlds.scenes.layout import COLOURS
from recombine.worlds.scenes.world import FRAME, SceneWorld

WORLD = SceneWorld(pixels=64)
COUNTS = (3, 1, 2, 3, 0)  # objects of each image
GROUND = (200, 200, 200)
MARK = 16  # half side of the square of its colour that an object is drawn as
LAYOUTS = {"official": (480, 320), "generated": FRAME}  # and the size of their images


def drawn():
    factors = WORLD.draw(torch.tensor(COUNTS), seeds.keys(3, "data", torch.arange(len(COUNTS))))
    return factors, WORLD.describe(factors)


def make_clevr(folder, layout="official"):
    """Write a CLEVR of five images into `folder`, and give its JSON and the folder of its images back."""
    width, height = LAYOUTS[layout]
    official = layout == "official"
    pictures = folder / "images" / ("train" if official else "")
    path = folder / "scenes" / "CLEVR_train_scenes.json" if official else folder / "CLEVR_scenes.json"
    pictures.mkdir(parents=True)
    path.parent.mkdir(exist_ok=True)
    scenes = []
    for index, described in enumerate(drawn()[1]):
        name = f"CLEVR_train_{index:06d}.png"
        image = np.full((height, width, 3), GROUND, dtype=np.uint8)
        for entry in described["objects"]:
            across, down, depth = entry["pixel_coords"]
            across, down = round(across * width / FRAME[0]), round(down * height / FRAME[1])
            entry["pixel_coords"] = [across, down, depth]
            image[down - MARK : down + MARK, across - MARK : across + MARK] = COLOURS[entry["color"]]
        Image.fromarray(image).convert("RGBA").save(pictures / name)
        scenes.append(
            {
                "split": "train",
                "image_index": index,
                "image_filename": name,
                "objects": described["objects"],
                "relationships": {side: [[] for _ in described["objects"]] for side in ("left", "right")},
                "directions": {"right": [0.656, 0.754, -0.0]},
            }
        )
    info = {
        "date": "2/14/2017",
        "version": "1.0",
        "split": "train",
        "license": "Creative Commons Attribution (CC-BY 4.0)",
    }
    path.write_text(json.dumps({"info": info, "scenes": scenes}))
    return path, pictures

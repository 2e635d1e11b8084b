"""A CelebA of sixty flat images in each layout it comes in: what an image shows follows from its number."""

import shutil
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from PIL import Image

ATTRIBUTES = (
    "5_o_Clock_Shadow", "Arched_Eyebrows", "Attractive", "Bags_Under_Eyes", "Bald", "Bangs", "Big_Lips", "Big_Nose",
    "Black_Hair", "Blond_Hair", "Blurry", "Brown_Hair", "Bushy_Eyebrows", "Chubby", "Double_Chin", "Eyeglasses",
    "Goatee", "Gray_Hair", "Heavy_Makeup", "High_Cheekbones", "Male", "Mouth_Slightly_Open", "Mustache",
    "Narrow_Eyes", "No_Beard", "Oval_Face", "Pale_Skin", "Pointy_Nose", "Receding_Hairline", "Rosy_Cheeks",
    "Sideburns", "Smiling", "Straight_Hair", "Wavy_Hair", "Wearing_Earrings", "Wearing_Hat", "Wearing_Lipstick",
    "Wearing_Necklace", "Wearing_Necktie", "Young",
)  # fmt: skip
COUNT = 60  # five rounds of the eight classes and of four faces without a class
HAIR = ("Black_Hair", "Blond_Hair")
LAYOUTS = ("folder", "zip", "csv", "csv-nested")
FAR = (255, 0, 255)  # the colour of what lies outside the centre square


def name_of(number):
    return f"{number:06d}.jpg"


def names_up_to(count):
    return [name_of(number) for number in range(1, count + 1)]


def attributes_of(number):
    """Image `number` (from 1) has class (number - 1) % 12 in binary; from 8 on, both colours of hair or neither."""
    kind = (number - 1) % 12
    male, serious, blond = kind >> 2 & 1, kind >> 1 & 1, kind & 1
    black = 1 - blond
    if kind >= 8:
        black = blond = kind & 1
    present = {"Male": male, "Smiling": 1 - serious, "Black_Hair": black, "Blond_Hair": blond, "Young": number % 2}
    return [1 if present.get(attribute) else -1 for attribute in ATTRIBUTES]


def partition_of(number):
    """Three rounds of train, one of valid, one of test."""
    return max(0, (number - 1) // 12 - 2)


def color_of(number):
    return tuple(32 + 64 * (number // 4**place % 4) for place in range(3))


def number_of(pixels):
    """Which image these pixels [H, W, 3] (0 to 255) are of; they must be flat, so nothing but the centre is in them."""
    assert (np.ptp(pixels.reshape(-1, 3), axis=0) <= 6).all()
    places = np.round((pixels.reshape(-1, 3).mean(0) - 32) / 64).astype(int)
    return int(places @ [1, 4, 16])


def save_image(path, pixels):
    Image.fromarray(pixels).save(path, quality=95, subsampling=0)


def make_celeba(folder, layout="folder", count=COUNT):
    """Write a CelebA of `count` images into `folder`, and give the folder back."""
    csv = layout.startswith("csv")
    pictures = folder / "img_align_celeba" / ("img_align_celeba" if layout == "csv-nested" else "")
    pictures.mkdir(parents=True)
    numbers = range(1, count + 1)
    for number in numbers:
        pixels = np.full((218, 178, 3), FAR, dtype=np.uint8)
        pixels[20:198] = color_of(number)
        save_image(pictures / name_of(number), pixels)
    if csv:
        rows = [",".join(map(str, [name_of(number), *attributes_of(number)])) for number in numbers]
        (folder / "list_attr_celeba.csv").write_text("\n".join([",".join(["image_id", *ATTRIBUTES]), *rows]) + "\n")
        parts = [f"{name_of(number)},{partition_of(number)}" for number in numbers]
        (folder / "list_eval_partition.csv").write_text("\n".join(["image_id,partition", *parts]) + "\n")
    else:
        rows = [name_of(number) + "".join(f" {value:2d}" for value in attributes_of(number)) for number in numbers]
        text = "\n".join([str(count), " ".join(ATTRIBUTES) + " ", *rows]) + "\n"
        (folder / "list_attr_celeba.txt").write_text(text)
        parts = [f"{name_of(number)} {partition_of(number)}" for number in numbers]
        (folder / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    if layout == "zip":
        with ZipFile(folder / "img_align_celeba.zip", "w", ZIP_DEFLATED) as archive:
            archive.mkdir("img_align_celeba")
            for path in sorted(pictures.iterdir()):
                archive.write(path, f"img_align_celeba/{path.name}")
        shutil.rmtree(pictures)
    return folder

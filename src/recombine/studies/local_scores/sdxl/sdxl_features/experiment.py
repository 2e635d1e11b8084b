"""Bradley 2026, Fig 5: are concepts of different categories disentangled in the features of SDXL?

*Model.* Stable Diffusion XL at high noise. *Prompts.* 24 concepts in four categories, and the background.
*Measured.* The hidden states of every transformer block, the answer itself (the latent) and the image it decodes to;
the direction of a concept is its mean over draws of noise minus that of the background (Lemma 2).
*Judged.* Cosines of directions within and between categories, block by block, without the bias of a common background,
and beside them those of the text embedding, which any network passes on. On trained weights alone.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.sdxl import FOLDER
from recombine.runs.sdxl_features import (
    ARM,
    CATEGORIES,
    COLUMNS,
    OTHER_NOISE,
    FeaturesConfig,
)
from recombine.runs.work import Work
from recombine.settings import override

SMOKE = FeaturesConfig(
    concepts=tuple(category.replace(words=category.words[:2]) for category in CATEGORIES), draws=2, batch=32
)
LAPTOP = FeaturesConfig(batch=32)
FULL = FeaturesConfig(pipeline=FOLDER)


def both_noises(base: FeaturesConfig) -> dict[str, Work]:
    """The main assumption, and the same where prompts do not share their noise."""
    return {ARM: base, OTHER_NOISE: override(base, {"shared_noise": False})}


def all_assumptions(base: FeaturesConfig) -> dict[str, Work]:
    """One arm for each detail that the paper leaves open."""
    return {
        **both_noises(base),
        "a photo of": override(base, {"template": "a photo of {}", "background": "a photo"}),
        "tokens averaged": override(base, {"tokens": "averaged"}),
        "middle noise": override(base, {"step": 500}),
    }


EXPERIMENT = Experiment(
    question="Are categories of concepts disentangled in the features of a large text-to-image model?",
    figure="Bradley 2026, Fig 5",
    budgets={
        "smoke": Budget(both_noises(SMOKE), 1, "seconds; random weights: proves the path, shows nothing"),
        "laptop": Budget(both_noises(LAPTOP), 2, "random weights, a minute on a CPU: what no training looks like"),
        "full": Budget(all_assumptions(FULL), 5, "SDXL from disk, five times ten draws, five assumptions, one GPU"),
    },
    columns=COLUMNS,
    assumptions=(
        "Needs the weights of Stable Diffusion XL on disk; nothing is downloaded, and without them nothing is judged.",
        "Three of the paper's four categories are named (animals, art styles, foods); the fourth, places, and all the "
        "words are chosen here. So are template, background, noise level, tokens side by side, and noise that all "
        "prompts share; the alternatives are arms.",
        "Every direction leads away from the same background, so even random weights have cosines near 1/2, like the "
        "text embeddings that they receive; it is the gap between within and between that is zero there.",
        "Outputs are those of a single step: the denoised latent, and the image that it decodes to.",
        "The ratio within / between is the paper's; where the unbiased `between` is near 0 it means little, so the gap "
        "is reported beside it.",
        "On a GPU with less than 40 GB take --set tokens=averaged: flattened features fill about 20.",
    ),
)

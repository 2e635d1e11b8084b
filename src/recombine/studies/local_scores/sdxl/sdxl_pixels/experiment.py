"""Bradley 2026, Fig 4: is SDXL local in pixels, and does each place depend on the words for its object only?

*Model.* Stable Diffusion XL; its latents are taken as pixels. *Prompt.* A horse in the middle, a dog on the left and a
cat on the right; the latents are those of its samples on their way from noise to image.
*Pixel locality.* At four places and three noise levels, the absolute gradient of the answer there by every latent
pixel. *Conditional locality.* Each word is taken out of the prompt: how much does the answer change at each place?
*Judged.* On trained weights alone.
"""

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.sdxl import FOLDER
from recombine.runs.sdxl_pixels import ARM, COLUMNS, PixelsConfig
from recombine.settings import override

SMOKE = PixelsConfig(steps=3, moments=2, draws=1, batch=32)
LAPTOP = override(SMOKE, {"steps": 20, "moments": 10, "draws": 2})
FULL = PixelsConfig(pipeline=FOLDER)

EXPERIMENT = Experiment(
    question="Is a large text-to-image model local in pixels, and in the words that each place depends on?",
    figure="Bradley 2026, Fig 4",
    budgets={
        "smoke": Budget({ARM: SMOKE}, 1, "seconds; random weights: proves the path, shows nothing"),
        "laptop": Budget({ARM: LAPTOP}, 5, "random weights, seconds on a CPU: what no training looks like"),
        "full": Budget({ARM: FULL}, 5, "SDXL from disk, five times two samples, one GPU"),
    },
    columns=COLUMNS,
    assumptions=(
        "Needs the weights of Stable Diffusion XL on disk; nothing is downloaded, and without them nothing is judged.",
        "Pixels are those of the latent; the gradient is of the denoised latent, absolute values summed over channels. "
        "The share of a pixel in its own answer is left out: at low noise it is nearly all, in any network.",
        "Random weights of this architecture (budget laptop) are local in pixels and indifferent to places too, so SD1 "
        "to SD4 say what SDXL shares with its architecture, not what it has learnt.",
        "Not known of the paper, and settings here: places, noise levels, sampler, guidance (of the samples; what is "
        "measured is the plain conditional answer), which words are taken out.",
        "A word is taken out of the text, which is then encoded again: later words move up, as in any shorter prompt.",
        "Five seeds of two samples: ten in all, as in the paper.",
    ),
)

"""What the committed evidence of the linear denoiser shows, in words."""

SEEN = (
    "Identity mapping is the noisy end of a denoiser, exactly. At sigma = 80 learning times are those of the one-layer "
    "map to 0.0004 (LD1), and in the deep denoiser all 1,600 starts lose more than 0.05 of the weaker concept there "
    "if and only if identity mapping does (LD5). Below sigma = 1 a concept is learned sooner, as x carries it too; "
    "below its spread the best denoiser makes nothing of the class (LD1b: a part of 0.0016 at most).",
    "LD1c fails in one of its spreads, and the rule was too simple rather than the effect absent. Told the class, the "
    "order does turn round with the noise, but not where mu^2 / s + spread^2 are equal (spread 1.23): in little noise "
    "x and c both carry the stronger concept, which doubles its rate, so that the weaker one is first only from a "
    "spread of 1.6 on. At 1.25 it is last at every level. Told the value, the rule of Fig 2b holds at every level.",
    "In the samples, told the class, the order never turns (LD2): the wide weak concept takes 2.0 to 4.0 times as long "
    "as the strong one whatever its spread, since the class decides at the noisy levels, where a spread is not seen. "
    "Told the value it turns just where identity mapping says (LD2b). So Fig 2b's statement about diversity is one "
    "about what the model is told.",
    "Swing-by reaches the samples (LD3, LD3b): the mean of what is generated for the unseen combination gains more "
    "than 0.05 of the weaker concept and loses it again in 0, 21, 64, 97% of starts at gaps of 1.1, 1.5, 2, 3 inside "
    "EDM, against 0, 27, 72, 98% in identity mapping; by a rise of the loss 1, 34, 74, 97% against 3, 49, 87, 100%. "
    "One layer does not (0 from zero; 6 of 3,200 from the same K(0), all at gap 3). The loss here is that of the two "
    "concepts; with the idle coordinate's answer identity mapping's rises, worked out aside from the same U, are 44, "
    "82, 98% at 1.5, 2, 3, near those of identity-mapping/phase-diagram.",
    "It comes from the noise (LD4): levels below sigma = 0.3 never do, 1.6 does in 0.30, and from 8 on the rate is "
    "that of identity mapping. The sampler passes it on but softens it. With weights of their own at each level the "
    "loss rises in fewer than half as many starts at gap 2 (0.37 against 0.87) although the concept retreats in 0.56: "
    "much of the retreat falls into the time in which the stronger concept is gained, which outweighs it.",
    "Whether EDM's samples retreat less often than identity mapping stays undecided (LD6: 0.05 less, with an interval "
    "that treats the same starts as if they were others).",
    "Gaussian starts retreat in 0.38 inside EDM, more than their loss says (0.15): many of these are dips below the "
    "first value, from a negative minor, and not something gained that is lost.",
)

"""What the committed evidence of the phase diagram shows, in words."""

SEEN = (
    "67,900 flows and nets; the training loss rises in none of them (PH10), while the loss at the unseen combination "
    "bumps in 0.44 of the grid's flows with A and in 0.65 with A^2. The half-way line lies near a gap of 1.45 for the "
    "smallest starts, 1.55 at the released scale and above 2 at the largest with A; with A^2 between 1.2 and 1.5. At "
    "the paper's setting (gap 1.5, scale 0.2) that is 0.41 against 0.88: what its figures show as typical is typical "
    "of A^2, which its scripts have and its equations have not.",
    "Small starts make Swing-by the rule only where the gap already allows it. At mu_2 = 2 the share rises from 0.43 "
    "to 0.94 as the start shrinks (PH2, PH2b), but at 1.2 it stops near 0.12 however small the start (PH2c): with "
    "the start's size gone, what is left is its shape. And the bump itself shrinks with the start: its median height "
    "at mu_2 = 3 falls from 2.8% of the largest loss at scale 0.2 to 0.3% at 0.01 with A, to 0.2% with A^2, where the "
    "share of bumps above 0.1% falls again (0.76). A plot would not show most of these.",
    "Sign is the strongest lever: 0.76 of positive starts against 0.19 of Gaussian ones, falling steadily as entries "
    "reach below zero. What matters is one number, the minor w_12: 0.983 of the Gaussian starts that bump have a "
    "positive one (PH9).",
    "Width: PH5c fails, and in an instructive way. Wide Gaussian starts never bump because their minors average out. "
    "Wide positive starts of equal size always do (1.00 at width 64): there w_12 tends to 3/4 of w_11 and w_22 for "
    "every start alike. Without equal size the wide positive start does not bump, because it is too large: W(0) "
    "begins near the identity's size. It is the zero mean of a wide start, or its size, that leaves no Swing-by, "
    "not its width.",
    "Dimension: with d = 16 hardly any positive start bumps (0.003), but that is the loss, not the concepts. Without "
    "what the idle coordinates answer, the loss of the two concepts still bumps in 0.69 (0.87 at d = 8): the idle "
    "answers fade away just when the weaker concept retreats, and hide it. Judged by concepts, dimension costs "
    "little; Gaussian starts of that size do not bump in either measure (0.003 of the concepts' losses).",
    "Depth: untied nets of 2, 3, 4 matrices bump in 0.52, 0.71, 0.78 of the starts (PH7), every positive start of 3 "
    "and more matrices among them, and higher (median 2.6% to 21% of the largest loss at gap 1.5, positive). With "
    "four matrices three in five positive nets had not finished when training ended; all of them had bumped. In "
    "untied Gaussian nets a positive minor of the first map decides less (0.73 of those that bump have one).",
    "The analytic curve says which start bumps in 0.983 of the grid (PH6), in 0.997 at the smallest scale and 0.953 "
    "at the largest, for which it is not made; its half-way line lies on that of the flows.",
)

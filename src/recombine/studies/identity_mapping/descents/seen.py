"""What the committed evidence of descents shows, in words."""

SEEN = (
    "Three and four falls exist, and with A they are rare: 16% and under 1% of 1,000 starts in the exact flow (S8g, "
    "S8i). With the scripts' A^2 three falls are no exception: 59% of the starts have them (S8h fails), four falls "
    "15%, or 23% where the last spread is 0.5. A^2 widens the gaps between the concepts, and gaps are what a bump "
    "needs.",
    "Euler on W, as released, shows fewer: 38, 10, 23, 3, 7 and 0.3% for the settings that were counted before as 35, "
    "11, 19, 1, 6 to 7 and 1% of 200. All six are compatible; S8c, S8d and S8f stay undecided because our interval "
    "reaches over the edge of the one before, not because it misses it.",
    "What Euler lacks are the runs that diverge, 21 to 61% of all starts: among those that stay, 62% fall three times "
    "with A^2 where 59% of all flows do. It was expected that Euler loses just the starts that would fall three times "
    "(S8k), since a small second start makes both likely; it is the other way round, 34% of them are lost and 45% of "
    "the others.",
)

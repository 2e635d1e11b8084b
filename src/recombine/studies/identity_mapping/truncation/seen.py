"""What the evidence of `truncation` shows, in words."""

SEEN: tuple[str, ...] = (
    "At the setting of the paper there is hardly anything to cut. With sigma = 0.05 as a standard deviation, as "
    "figures are labelled, none of 60,000 points lies within min(mu) / 2 of the probe; with 0.05 as a variance, "
    "as released, 170 do (0.28%). Drawing those again moves the path of a start by 0.2% of |probe| in the median "
    "and 0.3% at most, half of what another draw of all points does (0.4%). The claim holds, but it is a weak "
    "test.",
    "Where truncation bites it does change things, if not much. With variance 0.5, 3.4% of the points are inside; "
    "paths move by 2.4% in the median, 3.4 times the effect of redrawing, and by 3.3% in two layers with ReLU. "
    "With mu (2, 2) and variance 1 (6.1% inside) the median is 4.5% and 37 of 200 starts pass 5%: S11w fails on "
    "that setting alone.",
    "What changes is when, more than where. Median paths of linear layers lie on one another, but are walked "
    "later: the weak concept by 10% at variance 0.5, both by 12% at mu (2, 2). The reason is in the second "
    "moments. Whole clusters have E[x_1 x_2] = 0; cutting a corner in which both concepts are large makes it "
    "negative (-0.06 and -0.20). The affine closed form on the moments of the truncated points predicts the "
    "delays (S11p): 1.103 and 1.026 for 1.104 and 1.025 measured at variance 0.5, 1.123 and 1.120 for 1.124 and "
    "1.121 at mu (2, 2). A linear map does not know which points lie near the probe; it knows their moments.",
)

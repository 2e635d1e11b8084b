"""What the committed evidence of failure shows, in words."""

SEEN = (
    "There is no failure in the flow. Each of 300 starts learns the weakest concept with either A (S12, S12b). With "
    "A^2 it takes until t = 134 (median; nine in ten from 94 to 217) and the paper's figure ends at 100, where 264 of "
    "300 are still on the saddle. With A all are done by t = 58, so that no start of the true loss would have been "
    "drawn as a failure.",
    "Euler's steps on W do fail for good, and that is the integrator: in all 1,200 runs a run has not learned the "
    "concept by t = 400 if and only if W has got a negative eigenvalue on the way, after which it diverges (S12e, "
    "S12f). With a tenth of the step 77 in place of 188 of 300 fail with A^2, 43 in place of 118 with A. W = U U^T "
    "cannot lose semidefiniteness; W + eta V can, by its second order in eta.",
    "At t = 100 both look alike: with A^2 and the scripts' step 288 of 300 have not learned the concept, of which 188 "
    "are lost and 100 only late.",
    "Against counts found before on 60 starts: 63% of Euler's runs fail with A^2 (78% before), 39% with A (48% "
    "before), 88% of the flows are late (95% before). All three are lower here; chance explains the last two easily "
    "(p = 0.2 by Fisher's exact test), the first hardly (p = 0.03): S12c, S12i and S12j stay undecided. An escape was "
    "told to be typical at 118 to 121, without what counts as one; here it is w_11 at one half (median 134), and at "
    "0.1 the median is 94.",
)

"""Statistics of interleaved rounds: by which factor two runtimes differ, and how sure that is."""
import numpy as np


def signed_rank_interval(values, level=0.95):
    """Hodges-Lehmann estimate and the interval that inverts Wilcoxon's signed-rank test, exactly; (−∞, ∞) where there
    are too few values. Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", §3.1–3.3."""
    n = len(values)
    first, second = np.triu_indices(n)
    walsh = np.sort((np.asarray(values)[first] + np.asarray(values)[second]) / 2)
    ways = np.ones(1)  # of reaching each sum: every rank is added or is not
    for rank in range(1, n + 1):
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    outside = int(np.sum(np.cumsum(ways) / 2.0**n <= (1 - level) / 2))  # Walsh averages left out at either end
    if outside == 0:
        return float(np.median(walsh)), -np.inf, np.inf
    return float(np.median(walsh)), float(walsh[outside - 1]), float(walsh[-outside])


def ratio(theirs_ms, ours_ms):
    """Their time over ours, round by round: above 1, ours is faster."""
    estimate = signed_rank_interval(np.log(theirs_ms) - np.log(ours_ms))
    return dict(zip(("median", "low", "high"), (float(np.exp(value)) for value in estimate)))

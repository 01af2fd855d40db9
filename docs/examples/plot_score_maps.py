"""
Maps of scores
==============

How well fingerprints predict the forced response of climate models they have not seen, and how much their
residuals know of decadal internal variability (DIV).
"""

import climanchor as ca
from climanchor import plotting

calm, lively = ["CCSM4", "CESM2", "HadCM3"], ["CNRM-CM6-1", "IPSL-CM6A-LR"]
data = ca.simulate.prepared(models=calm + lively, members=5, years=(1900, 2005), grid=10.0)
scores = {
    gamma: ca.fit_fingerprint(data, models=calm, gamma=gamma, alpha=1e4, rank=50).score(data, models=lively)
    for gamma in (1, 5, 100)
}

# %%
# One fingerprint: R² (A), and the correlation of its residuals with DIV (B). The outlines in B surround the
# cells beyond half the scale, dashed where negative, so that the map can be read in grey.
plotting.map_scores(scores[5], mean=True)

# %%
# The same score of several fingerprints, with one colour bar.
plotting.map_r2({f"γ = {gamma}": score for gamma, score in scores.items()}, mean=True)

# %%
plotting.map_residual_correlation({f"γ = {gamma}": score for gamma, score in scores.items()}, mean=True)

# %%
# What anchor regularisation changes. Red and hatched cells are better: a higher R² (A), a smaller \|r\| (B).
plotting.map_difference(scores[5], scores[1], names=("A-RRRR (γ = 5)", "RRRR"), mean=True)

# %%
# One climate model alone, for one column of a page.
plotting.map_r2(scores[5], model="IPSL-CM6A-LR")

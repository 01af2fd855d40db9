"""
Choosing γ, α and ρ
===================

Validation scores by leaving models out: along γ, as a Pareto front, and over the grid of α and ρ.
"""

import numpy as np

import climanchor as ca
from climanchor import plotting

models = ["CCSM4", "NorCPM1", "CESM2", "HadCM3"]
data = ca.simulate.prepared(models=models, members=4, years=(1900, 2005), grid=15.0)
selection = ca.select(
    data, models=models, gammas=[1, 2, 5, 10, 100], alphas=np.geomspace(1, 1e6, 13), ranks=range(20, 281, 20),
    samples_per_model=150,
)  # fmt: skip

# %%
# R² and \|r\| against γ, with ± 2 standard errors over the splits.
plotting.scores_by_gamma(selection, chosen=5)

# %%
# Every candidate, the front on which nothing improves without loss elsewhere, and what three rules choose.
plotting.pareto(selection, chosen={rule: selection.best(rule) for rule in ("published", "weighted", "pareto")})

# %%
# The grid at one γ. All members share the forced response of a year, so the targets have a limited rank: beyond
# it, in the hatched part, ρ changes nothing.
plotting.selection_grid(selection, gamma=5, chosen=selection.best("published", gamma=5))

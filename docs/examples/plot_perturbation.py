"""
Perturbation strength
=====================

The error of anchor-regularised algorithms as the intervention on the anchor grows.
"""

from climanchor import experiments, plotting

results = experiments.perturbation_strength(repeats=10)

# %%
# Means and ± 2 standard errors over the repeats.
plotting.perturbation(results, metric="mse")

# %%
# The same as R². Partialling out (PA) falls off the page first.
figure = plotting.perturbation(results, metric="r2", limits=(-1, 1))

# %%
# Every figure is saved as PNG and PDF, with the same bytes each time, by ``plotting.save(figure, "perturbation")``.

"""
Detection
=========

Is the observed change outside what internal variability makes? Here a member of a model that the fingerprint has
not seen plays the observations.
"""

import climanchor as ca
from climanchor import plotting

models = ["CCSM4", "CESM2", "HadCM3"]
data = ca.simulate.prepared(models=[*models, "IPSL-CM6A-LR"], members=5, years=(1900, 2005), grid=10.0)
control = ca.simulate.control(models=models, years=300, grid=10.0)
observations = data["IPSL-CM6A-LR"]["field"].isel(member=0, drop=True)
fingerprints = {
    f"γ = {gamma}": ca.fit_fingerprint(data, models=models, gamma=gamma, alpha=1e4, rank=50) for gamma in (1, 5, 100)
}
results = {
    name: ca.detect(fingerprint, observations=observations, control=control, window=30)
    for name, fingerprint in fingerprints.items()
}

# %%
# Trends of the control segments, and the observed one.
plotting.null_distribution(results)

# %%
# The forced response predicted from the observations, and the band of the control runs.
plotting.detection_series(results["γ = 5"])

# %%
# The same test in every cell; dots where the trend is significant, with the false-discovery rate held at 5 %.
local = ca.detect(fingerprints["γ = 5"], observations=observations, control=control, window=30, region="cells")
plotting.map_significance(local["statistic"], local["p_value"])

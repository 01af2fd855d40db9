"""
Forced responses, patterns and any other field
==============================================

Maps of fields with latitudes and longitudes: on any projection, with missing cells marked, and coastlines that
come with the package.
"""

import cartopy.crs as ccrs

import climanchor as ca
from climanchor import plotting

models = ["CCSM4", "CESM2", "IPSL-CM6A-LR"]
data = ca.simulate.prepared(models=models, members=4, years=(1900, 2005), grid=10.0)

# %%
# The forced response of climate models, averaged over a period.
plotting.map_forced(data, models=["CESM2", "IPSL-CM6A-LR"], period=(1986, 2005), mean=True)

# %%
# The leading factors of a fingerprint: what it predicts,
fingerprint = ca.fit_fingerprint(data, models=models, gamma=5, alpha=1e4, rank=20)
plotting.map_patterns(fingerprint, modes=2)

# %%
# and what it looks at.
plotting.map_patterns(fingerprint, side="predictor", modes=2)

# %%
# Any labelled field, on another projection. Missing cells are grey and crossed.
field = data["CESM2"]["field"].isel(member=0).sel(year=2000)
plotting.map_field(field.where(field["lat"] > -60), diverging=True, projection=ccrs.Orthographic(10, -30))

"""
Internal variability and coverage
=================================

What there is to learn from: the size of decadal internal variability (DIV) by climate model, DIV beside the
forced response, and the years that each member has.
"""

import pandas as pd

import climanchor as ca
from climanchor import plotting

calm, lively = ["CCSM4", "NorCPM1", "CESM2", "HadCM3"], ["CNRM-CM6-1", "CNRM-ESM2-1", "IPSL-CM6A-LR"]
data = ca.simulate.prepared(members=8, grid=15.0)

# %%
# The standard deviation of DIV, member by member. Diamonds are corrected for the size of the ensemble.
plotting.div_magnitude(data, train=calm, test=lively)

# %%
# A model of low and one of high variability.
plotting.div_series(data, models=["CESM2", "CNRM-CM6-1"])

# %%
# Which years the files hold. With an archive on disk the table is ``ca.coverage(runs)``.
table = pd.DataFrame(
    [
        ("CESM2", "r1i1p1f1", "1850-01", "2014-12", ""),
        ("CESM2", "r2i1p1f1", "1850-01", "2014-12", "1900-03…1911-02"),
        ("HadCM3", "r1i1p1", "1859-12", "2005-12", ""),
        ("HadCM3", "r2i1p1", "", "", ""),
    ],
    columns=["model", "member", "first", "last", "gaps"],
)
plotting.coverage(table, width="one")

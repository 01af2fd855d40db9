"""Moving models to a reference period that observations cover, and the series to expect of them."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from climanchor.detection.coverage import cell_areas
from climanchor.detection.regions import Region, region_weights
from climanchor.preprocess.anomaly import anomalies
from climanchor.preprocess.models import each_model
from climanchor.preprocess.variability import decadal_variability, forced_response


def rebase(
    data: xr.DataTree, *, reference: tuple[int, int], min_reference_years: int = 20, window: int = 10
) -> xr.DataTree:
    """Prepared data relative to another reference period: ``field``, and ``forced`` and ``div`` made anew.

    For observations that do not reach back to 1850–1900. Fit the fingerprint on the result. Lazy.

    Parameters
    ----------
    data
        Prepared data, one child per model.
    reference, min_reference_years
        As in :func:`climanchor.anomalies`.
    window
        Years of the running mean that defines ``div``.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CESM2"], members=2, grid=30.0)
    >>> field = rebase(data, reference=(1961, 1990))["CESM2"]["field"]
    >>> bool(abs(field.sel(year=slice(1961, 1990)).mean("year")).max() < 1e-6)
    True
    """

    def one_model(node: xr.Dataset) -> xr.Dataset:
        left_out = "member" in node["forced"].dims
        field = anomalies(node["field"], reference=reference, min_reference_years=min_reference_years)
        forced = forced_response(field, leave_one_out=left_out)
        div = decadal_variability(field, window=window, leave_one_out=left_out)
        same = node.drop_vars([name for name in node.data_vars if "year" in node[name].dims])
        return same.assign(field=field, forced=forced, div=div).assign_attrs(
            node.attrs, reference=f"{reference[0]}-{reference[1]}"
        )

    return each_model(data, one_model)


def expected_series(
    data: xr.DataTree, *, models: Sequence[str], region: Region = None, land: xr.DataArray | None = None
) -> xr.DataArray:
    """Mean forced response of some models over a region, in the years they share; each weighs the same.

    The series to correlate with (``detect(..., statistic="correlation", expected=...)``). Computed.
    Raises ``ValueError`` for ``region="cells"``, and where the models share no year.

    >>> import climanchor as ca
    >>> data = ca.simulate.prepared(models=["CCSM4", "CESM2"], members=2, grid=30.0)
    >>> series = expected_series(data, models=["CCSM4", "CESM2"], region=(-30, 30, 0, 360))
    >>> series.dims, int(series["year"][-1])
    (('year',), 2005)
    """
    series = []
    for name in models:
        forced = data[name].to_dataset()["forced"]
        forced = forced.mean("member") if "member" in forced.dims else forced
        weights = region_weights(region, areas=cell_areas(forced), land=land)
        if weights is None:
            raise ValueError('an expected series is one series: region="cells" gives none')
        series.append((forced * weights).sum(("lat", "lon")).astype("float64").compute())
    joined = xr.concat(xr.align(*series, join="inner"), dim="model")
    if not joined.sizes["year"]:
        raise ValueError(f"{', '.join(models)} share no year")
    mean = joined.mean("model").rename("expected")
    if bool(np.isnan(mean).any()):
        raise ValueError("the forced response has missing years: leave the models out that lack them")
    return mean.assign_attrs(units="K", long_name="expected forced response", models=", ".join(models))

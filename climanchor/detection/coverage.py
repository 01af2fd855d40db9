"""What observations cover: the window of a test, the cells observed in it, and the years that can be used."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from climanchor.detection.projection import check_units
from climanchor.preprocess.grids import Grid

#: No temperature anomaly of an annual mean is larger than this, in K.
LARGEST_ANOMALY = 60.0


def check_observations(observations: xr.DataArray) -> xr.DataArray:
    """Observations as (realization, year, lat, lon); refuses other dimensions, units and absolute values."""
    dims = set(observations.dims)
    if not {"year", "lat", "lon"} <= dims or dims - {"year", "lat", "lon", "realization"}:
        raise ValueError(
            f"observations need dimensions (year, lat, lon) and may have realization, got {observations.dims}; "
            "load_observations brings files into this form"
        )
    check_units(observations, "the observations")
    largest = float(np.abs(observations).max())
    if largest > LARGEST_ANOMALY:
        raise ValueError(
            f"observations reach {largest:.4g} K: these are not anomalies (absolute temperatures, or fill "
            "values that were not masked); give anomalies in K"
        )
    if "realization" not in dims:
        observations = observations.expand_dims(realization=1)
    return observations.transpose("realization", "year", "lat", "lon").sortby("year")


def window_years(observations: xr.DataArray, window: int | tuple[int, int]) -> NDArray[np.int64]:
    """Years of the test: the last ``window`` years of the observations, or first and last year as given."""
    years = observations["year"].values
    first, last = (years[-1] - window + 1, years[-1]) if isinstance(window, int) else window
    if last - first < 4:
        raise ValueError(f"a window needs five years or more, got {first}–{last}")
    wanted = np.arange(first, last + 1)
    missing = np.setdiff1d(wanted, years)
    if missing.size == wanted.size:
        raise ValueError(f"observations of {years[0]}–{years[-1]} do not overlap the window {first}–{last}")
    if missing.size:
        raise ValueError(
            f"observations of {years[0]}–{years[-1]} lack {missing.size} of the {wanted.size} years of the "
            f"window {first}–{last} (first missing: {missing[0]}); choose a window they cover"
        )
    return wanted


def coverage_mask(observations: xr.DataArray, years: NDArray[np.int64], *, min_coverage: float = 0.1) -> xr.DataArray:
    """Cells (lat, lon) observed in every one of ``years``, in every realization.

    Raises ``ValueError`` when they make up less than ``min_coverage`` of the globe's area.

    >>> seen = xr.DataArray(np.zeros((2, 2, 2)), dims=("year", "lat", "lon"),
    ...                     coords={"year": [2000, 2001], "lat": [-45.0, 45.0], "lon": [90.0, 270.0]})
    >>> seen[0, 1, 1] = np.nan
    >>> coverage_mask(seen, np.array([2000, 2001])).values.tolist()
    [[True, True], [True, False]]
    """
    part = observations.sel(year=years)
    mask = part.notnull().all([dim for dim in part.dims if dim not in ("lat", "lon")]).compute()
    share = covered_area(mask)
    if not share > min_coverage:
        raise ValueError(
            f"only {share:.1%} of the globe is observed in every year of {years[0]}–{years[-1]}, "
            f"and at least {min_coverage:.0%} is asked for (min_coverage): choose a later or shorter window"
        )
    return mask.rename("observed")


def expected_window(
    statistic: str, expected: xr.DataArray | None, years: NDArray[np.int64] | None
) -> NDArray[np.float64] | None:
    """The expected series in the years of the window; None for a trend."""
    if statistic == "trend":
        return None
    if statistic != "correlation":
        raise ValueError(f'statistic must be "trend" or "correlation", got {statistic!r}')
    if expected is None:
        raise ValueError('statistic="correlation" needs expected=, the forced series to correlate with')
    if years is None:
        years = expected["year"].values
    missing = np.setdiff1d(years, expected["year"].values)
    if missing.size:
        raise ValueError(
            f"the expected series covers {int(expected['year'][0])}–{int(expected['year'][-1])} and lacks "
            f"{missing.size} years of the window {years[0]}–{years[-1]}: choose an earlier window or extend it"
        )
    return np.asarray(expected.sel(year=years).values, dtype=np.float64)


def covered_area(mask: xr.DataArray) -> float:
    """Share of the globe's area where a mask (lat, lon) is true."""
    areas = cell_areas(mask)
    return float((areas * mask).sum() / areas.sum())


def cell_areas(field: xr.DataArray) -> xr.DataArray:
    """Areas (lat, lon) of the cells of a field's rectilinear grid, on the unit sphere."""
    grid = Grid.from_centres(field["lat"].values, field["lon"].values)
    return xr.DataArray(grid.area, coords={"lat": field["lat"], "lon": field["lon"]}, dims=("lat", "lon"))

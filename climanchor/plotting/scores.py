"""Maps of the scores of fingerprints: R² and the correlation of residuals with internal variability."""

from collections.abc import Mapping
from typing import Any

import cartopy.crs as ccrs
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from climanchor.plotting.grid import DIMENSIONLESS, check_same_grid, check_units, checked_map
from climanchor.plotting.maps import draw_panels
from climanchor.plotting.panels import add_colour_bar, centred, draw_field, map_axes, panel_title, sequential
from climanchor.plotting.style import Width, label_panels, styled

Scores = xr.Dataset | Mapping[str, xr.Dataset]
R2_LABEL = "R²"
R_LABEL = "Correlation of residuals with DIV"


def score_maps(scores: Scores, variable: str, model: str | None) -> dict[str, xr.DataArray]:
    """Return checked maps of a score by title, from one score dataset or several."""
    several = dict(scores) if isinstance(scores, Mapping) and not isinstance(scores, xr.Dataset) else {"": scores}
    maps = {}
    for title, dataset in several.items():
        field = checked_map(_score(dataset, variable, model), variable)
        check_units(field, variable, DIMENSIONLESS)
        largest = float(field.max() if variable == "r2" else np.abs(field).max())
        if largest > 1 + 1e-9:
            raise ValueError(f"{variable} reaches {largest:.4g} but cannot exceed 1: is this the right variable?")
        maps[title or model or ""] = field
    first = next(iter(maps.values()))
    for title, field in maps.items():
        check_same_grid(first, field, ("the first scores", f"scores {title!r}"))
    return maps


def _score(dataset: Any, variable: str, model: str | None) -> xr.DataArray:
    if not isinstance(dataset, xr.Dataset):
        raise TypeError(f"scores must be a Dataset as Fingerprint.score returns, got {type(dataset).__name__}")
    name = variable if model is None else f"{variable}_by_model"
    if name not in dataset:
        raise ValueError(f"scores have no {name!r}: they hold {sorted(map(str, dataset.data_vars))}")
    if model is None:
        return dataset[name]
    known = [str(known) for known in dataset["model"].values]
    if model not in known:
        raise ValueError(f"scores have no model {model!r}: they hold {known}")
    return dataset[name].sel(model=model)


def map_r2(
    scores: Scores,
    *,
    model: str | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    mean: bool = False,
    ax: Axes | None = None,
    projection: ccrs.Projection | None = None,
    width: Width | None = None,
) -> Figure:
    """Map the R² of the predicted forced response: 1 is perfect, 0 no better than the mean.

    Parameters
    ----------
    scores
        What ``Fingerprint.score`` returns, or a mapping of panel titles to several such datasets, which then
        share one colour bar.
    model
        Draw one climate model's R² instead of the R² pooled over the models.
    limits
        Values at the ends of the colour bar; values outside are shown by its arrows.
    mean, ax, projection, width
        As in :func:`map_field`.

    Raises
    ------
    TypeError, ValueError
        As in :func:`map_field`; also for R² above 1, with units, on several grids, or for an unknown model.

    Examples
    --------
    >>> coords = {"lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    >>> scores = xr.Dataset({"r2": (("lat", "lon"), np.full((36, 72), 0.5))}, coords)
    >>> figure = map_r2({"plain": scores, "γ = 5": scores + 0.03})
    >>> [ax.get_title() for ax in figure.axes[:2]]
    ['plain', 'γ = 5']
    """
    maps = score_maps(scores, "r2", model)
    scale = sequential(list(maps.values()), limits=limits, cmap=None)
    return draw_panels(maps, scale, label=R2_LABEL, mean=mean, ax=ax, projection=projection, width=width)


def map_residual_correlation(
    scores: Scores,
    *,
    model: str | None = None,
    limit: float | None = None,
    mean: bool = False,
    ax: Axes | None = None,
    projection: ccrs.Projection | None = None,
    width: Width | None = None,
) -> Figure:
    """Map the correlation r of residuals (forced − predicted) and decadal internal variability (DIV).

    Zero is best: the fingerprint does not mistake internal variability for the forced response. With DIV =
    member − forced, as everywhere in climanchor, r is mostly negative; the opposite sign of DIV, used in the
    published figures, turns it positive. The colour scale is symmetric about zero.

    Parameters
    ----------
    scores, model
        As in :func:`map_r2`.
    limit
        The colour bar goes from −limit to limit; from the data if left out.
    mean, ax, projection, width
        As in :func:`map_field`.

    Raises
    ------
    TypeError, ValueError
        As in :func:`map_r2`.

    Examples
    --------
    >>> coords = {"lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    >>> scores = xr.Dataset({"residual_correlation": (("lat", "lon"), np.full((36, 72), -0.4))}, coords)
    >>> figure = map_residual_correlation(scores, limit=0.8)
    >>> [float(end) for end in figure.axes[-1].get_xlim()]
    [-0.8, 0.8]
    """
    maps = score_maps(scores, "residual_correlation", model)
    scale = centred(list(maps.values()), limit=limit)
    return draw_panels(maps, scale, label=R_LABEL, mean=mean, ax=ax, projection=projection, width=width)


def map_scores(
    scores: xr.Dataset,
    *,
    model: str | None = None,
    mean: bool = False,
    projection: ccrs.Projection | None = None,
    width: Width = "two",
) -> Figure:
    """Map R² (A) and the correlation of residuals with DIV (B) of one fingerprint side by side.

    Parameters
    ----------
    scores
        What ``Fingerprint.score`` returns.
    model
        Draw one climate model's scores instead of those pooled over the models.
    mean, projection, width
        As in :func:`map_field`; with ``width="one"`` the panels are on top of one another.

    Raises
    ------
    TypeError, ValueError
        As in :func:`map_r2`.

    Examples
    --------
    >>> coords = {"lat": np.arange(-87.5, 90, 5), "lon": np.arange(2.5, 360, 5)}
    >>> values = (("lat", "lon"), np.full((36, 72), 0.4))
    >>> figure = map_scores(xr.Dataset({"r2": values, "residual_correlation": values}, coords))
    >>> [ax.get_title(loc="left") for ax in figure.axes[:2]]
    ['A', 'B']
    """
    (r2,) = score_maps(scores, "r2", model).values()
    (r,) = score_maps(scores, "residual_correlation", model).values()
    panels = [
        (r2, sequential([r2], limits=(0.0, 1.0), cmap=None), R2_LABEL),
        (r, centred([r], limit=None), R_LABEL),
    ]
    with styled():
        figure, axes = map_axes(2, ax=None, projection=projection, width=width, title_lines=1, own_bars=True)
        for ax, (field, scale, label) in zip(axes, panels, strict=True):
            cells = draw_field(ax, field, scale)
            ax.set_title(panel_title("", field, mean=mean))
            add_colour_bar(figure, cells, [ax], scale, label=label, extend=scale.extend([field]))
        label_panels(axes)
    return figure

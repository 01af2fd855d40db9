"""Figures of a detection: the null distribution with the observation in it, and the series with the control band."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from climanchor.plotting.style import COLOURS, Width, figure_of, label_panels, new_figure, styled

Results = xr.Dataset | Mapping[str, xr.Dataset]


def null_distribution(
    results: Results, *, bins: int = 15, ax: Axes | None = None, width: Width | None = None
) -> Figure:
    """Draw the statistics of the control segments as a histogram, with the critical value and the observed one.

    Segments are weighted as in the test, so that each climate model counts the same. Beyond the dashed lines
    the test rejects "internal variability alone".

    Parameters
    ----------
    results
        What ``detect`` returns for one series (a region or the globe), or a mapping of panel titles, such as
        values of γ, to several; the panels then share their axes.
    bins
        Number of bars.
    ax
        Axes to draw one result on, instead of a new figure.
    width
        ``"one"`` or ``"two"`` columns; two by default when there are several panels.

    Raises
    ------
    TypeError, ValueError
        If something ``detect`` returns is missing, or the test was made in every cell.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> result = xr.Dataset(
    ...     {"null": ("segment", rng.normal(size=50)), "statistic": 3.0, "p_value": 0.003, "critical_value": 2.0},
    ...     attrs={"statistic": "trend", "sided": "two-sided"},
    ... )
    >>> null_distribution(result).axes[0].get_xlabel()
    'Trend (K per decade)'
    """
    needed = ("null", "statistic", "p_value", "critical_value")
    panels = {title: _one_series(result, needed) for title, result in _by_title(results).items()}
    reach = max(float(np.nanmax(np.abs(result["null"].values))) for result in panels.values())
    with styled():
        axes = _axes(len(panels), ax, width, height=2.3)
        for panel, (title, result) in zip(axes, panels.items(), strict=True):
            _draw_null(panel, result, np.linspace(-reach, reach, bins + 1))
            panel.set_title("\n".join(filter(None, (title, _verdict(result)))))
        axes[0].set_ylabel("Share of control segments")
        label_panels(axes)
        _add_key(axes)
    return figure_of(axes[0])


def _draw_null(ax: Axes, result: xr.Dataset, edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    null = result["null"].values
    known = np.isfinite(null)
    weights = result["null_weight"].values if "null_weight" in result else np.ones(null.size)
    weights = weights[known] / weights[known].sum()
    ax.hist(null[known], bins=list(edges), weights=weights, color="0.75", edgecolor="white", linewidth=0.4,
            label="control segments")  # fmt: skip
    is_trend = result.attrs.get("statistic", "trend") == "trend"
    critical = float(result["critical_value"])
    critical = critical if is_trend else float(np.tanh(critical))  # kept on Fisher's scale for correlations
    signs = {"two-sided": (-1, 1), "greater": (1,), "less": (-1,)}[result.attrs.get("sided", "two-sided")]
    for i, sign in enumerate(signs):
        ax.axvline(sign * critical, color="k", linewidth=0.8, linestyle="--", label="" if i else "critical value")
    observed = float(result["statistic"])
    ax.axvline(observed, color=COLOURS[1], linewidth=2.0, label="observed")
    ax.set_xlabel("Trend (K per decade)" if is_trend else "Correlation with the expected response")


def _verdict(result: xr.Dataset) -> str:
    p, segments = float(result["p_value"]), int(np.isfinite(result["null"]).sum())
    return f"{'p < 0.001' if p < 0.001 else f'p = {p:.3f}'}, {segments} segments"


def detection_series(results: Results, *, ax: Axes | None = None, width: Width | None = None) -> Figure:
    """Draw the forced response predicted from observations, with the band of the control runs.

    The band is the mean ± 2 standard deviations of annual values of the projected control. The vertical line is
    the year of emergence, after which the series stays outside the noise as ``detect`` was asked to judge it.

    Parameters
    ----------
    results
        What ``detect`` returns for one series (a region or the globe), or a mapping of panel titles to several.
    ax
        Axes to draw one result on, instead of a new figure.
    width
        ``"one"`` or ``"two"`` columns; two by default when there are several panels.

    Raises
    ------
    TypeError, ValueError
        If something ``detect`` returns is missing, or the test was made in every cell.

    Examples
    --------
    >>> result = xr.Dataset(
    ...     {"series": ("year", [0.0, 0.5, 1.0]), "control_mean": 0.0, "control_std": 0.1, "emergence_year": 1951.0},
    ...     {"year": [1950, 1951, 1952]},
    ... )
    >>> detection_series(result).axes[0].get_ylabel()
    'Predicted forced response (K)'
    """
    needed = ("series", "control_mean", "control_std")
    panels = {title: _one_series(result, needed) for title, result in _by_title(results).items()}
    with styled():
        axes = _axes(len(panels), ax, width, height=2.3)
        for panel, (title, result) in zip(axes, panels.items(), strict=True):
            _draw_series(panel, result)
            panel.set_title(title)
        axes[0].set_ylabel("Predicted forced response (K)")
        label_panels(axes)
        _add_key(axes)
    return figure_of(axes[0])


def _draw_series(ax: Axes, result: xr.Dataset) -> None:
    mean, std = float(result["control_mean"]), float(result["control_std"])
    years = result["year"].values
    ax.axhspan(mean - 2 * std, mean + 2 * std, color="0.85", linewidth=0, label="control ± 2σ")
    ax.axhline(mean, color="0.5", linewidth=0.6)
    if "series_by_realization" in result:
        every = result["series_by_realization"]
        low, high = every.min("realization"), every.max("realization")
        ax.fill_between(years, low, high, color=COLOURS[1], alpha=0.3, linewidth=0, label="range of realizations")
    ax.plot(years, result["series"], color=COLOURS[1], label="observations")
    year = float(result["emergence_year"]) if "emergence_year" in result else np.nan
    if np.isfinite(year):
        ax.axvline(year, color="k", linewidth=0.8, linestyle=":", label="emergence")
        ax.annotate(f"{year:.0f}", (year, 0.98), xycoords=("data", "axes fraction"), xytext=(-3, 0),
                    textcoords="offset points", ha="right", va="top", fontsize=7)  # fmt: skip
    ax.set_xlabel("Year")
    ax.margins(x=0.01)


def _add_key(axes: list[Axes]) -> None:
    """Put one legend of everything drawn in the panels below them."""
    keys = {label: key for ax in axes for key, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure = figure_of(axes[0])
    if figure.get_layout_engine() is None:  # the user's own figure: keep to the user's axes
        axes[0].legend(list(keys.values()), list(keys), loc="best")
        return
    columns = 2 if len(keys) > 3 and figure.get_figwidth() < 5 else len(keys)
    figure.legend(list(keys.values()), list(keys), loc="outside lower center", ncols=columns, columnspacing=1.2)


def _by_title(results: Results) -> dict[str, xr.Dataset]:
    panels = {"": results} if isinstance(results, xr.Dataset) else dict(results)
    if not panels:
        raise ValueError("results is an empty mapping: there is nothing to draw")
    return panels


def _one_series(result: xr.Dataset, needed: tuple[str, ...]) -> xr.Dataset:
    if not isinstance(result, xr.Dataset):
        raise TypeError(f"results must be a Dataset as detect returns, got {type(result).__name__}")
    lacking = [name for name in needed if name not in result]
    if lacking:
        raise ValueError(f"results lack {lacking}: give what detect returns")
    if {"lat", "lon"} & set(result[needed[0]].dims):
        raise ValueError(
            "this test was made in every cell: choose one with results.sel(lat=…, lon=…), or draw them all with "
            "map_significance(results['statistic'], results['p_value'])"
        )
    return result.compute()


def _axes(count: int, ax: Axes | None, width: Width | None, *, height: float) -> list[Axes]:
    if ax is not None:
        if count != 1:
            raise ValueError(f"ax holds one panel, but there are {count} to draw: leave ax out")
        return [ax]
    figure = new_figure(width or ("one" if count == 1 else "two"), height + 0.3)
    axes: list[Axes] = []
    for i in range(count):
        axes.append(figure.add_subplot(1, count, i + 1, sharex=axes[0] if axes else None,
                                       sharey=axes[0] if axes else None))  # fmt: skip
    return axes

"""Fixtures of the figures: no network while drawing, made fields, and a look at how labels are placed."""

import socket
from collections.abc import Callable
from itertools import combinations

import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

LAT, LON = np.arange(-82.5, 90, 15.0), np.arange(7.5, 360, 15.0)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to open a connection while drawing is an error."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a figure tried to reach the network")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(autouse=True)
def settings_untouched() -> object:
    """No figure changes matplotlib's settings or registers itself with pyplot."""
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == []


@pytest.fixture
def make_map() -> Callable[..., xr.DataArray]:
    """A smooth made field (lat, lon) with values between -1 and 1."""

    def make(seed: int = 0, lat: np.ndarray = LAT, lon: np.ndarray = LON, **attrs: str) -> xr.DataArray:
        rng = np.random.default_rng(seed)
        phi, lam = np.deg2rad(lat)[:, None], np.deg2rad(lon)[None]
        waves = [
            rng.normal() * np.cos(k * lam + rng.uniform(0, 6)) * np.cos(phi) ** k * np.sin(m * phi + rng.uniform(0, 6))
            for k in range(4)
            for m in (1, 2, 3)
        ]
        values = sum(waves)
        return xr.DataArray(
            values / np.abs(values).max(), coords={"lat": lat, "lon": lon}, dims=("lat", "lon"), attrs=attrs
        )

    return make


@pytest.fixture
def make_scores(make_map: Callable[..., xr.DataArray]) -> Callable[..., xr.Dataset]:
    """Scores as a fingerprint returns them: R² about ``skill``, r about ``r``."""

    def make(skill: float = 0.5, r: float = -0.4, seed: int = 0, **grid: np.ndarray) -> xr.Dataset:
        r2, correlation = skill + 0.3 * make_map(seed, **grid), r + 0.3 * make_map(seed + 1, **grid)
        scores = xr.Dataset({"r2": r2, "residual_correlation": correlation})
        by_model = {f"{name}_by_model": xr.concat([scores[name]] * 2, "model") for name in scores}
        return scores.assign(by_model).assign_coords(model=["CESM2", "CNRM-CM6-1"])

    return make


def pixels(figure: Figure, dpi: float = 100) -> np.ndarray:
    """The figure as drawn: (row from the top, column, RGB)."""
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


@pytest.fixture
def draw() -> Callable[..., np.ndarray]:
    """Draw a figure and return its pixels."""
    return pixels


@pytest.fixture
def check_labels() -> Callable[[Figure], None]:
    """Assert that every text of a figure is inside it and none lies over another."""

    def check(figure: Figure) -> None:
        pixels(figure)
        boxes = {
            (text.get_text(), i): text.get_window_extent()
            for i, text in enumerate(_texts(figure))
            if text.get_visible() and text.get_text().strip()
        }
        assert boxes
        page = figure.bbox
        clipped = [
            text for (text, _), box in boxes.items()
            if box.x0 < page.x0 - 1 or box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1 or box.y1 > page.y1 + 1
        ]  # fmt: skip
        assert not clipped, f"outside the figure: {clipped}"
        overlapping = [
            (a[0], b[0]) for (a, first), (b, second) in combinations(boxes.items(), 2)
            if min(first.x1, second.x1) - max(first.x0, second.x0) > 1
            and min(first.y1, second.y1) - max(first.y0, second.y0) > 1
        ]  # fmt: skip
        assert not overlapping, f"texts over one another: {overlapping}"

    return check


def _texts(figure: Figure) -> list[Text]:
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for ax in figure.axes:
        texts += [ax.title, ax._left_title, ax._right_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high:
                    texts += [label for label in (tick.label1, tick.label2) if label.get_visible()]
        if ax.get_legend() is not None:
            texts += ax.get_legend().get_texts()
    return texts

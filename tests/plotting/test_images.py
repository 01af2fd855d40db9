"""Figures as files: the same bytes every time, and a few reference pictures.

To make the reference pictures anew after a change of style, run this file with CLIMANCHOR_UPDATE_IMAGES=1 and
look at them.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images

from climanchor import plotting
from climanchor.plotting.style import new_figure

REFERENCE = Path(__file__).parent / "reference"
TOLERANCE = 8.0  # root mean square over the pixels, of 255; letters differ a little between versions of FreeType


def difference(make_scores, sign=1):
    anchored, plain = make_scores(seed=1), make_scores(seed=5)
    return plotting.map_difference(*(anchored, plain)[::sign])


def grid(make_scores):
    alphas, ranks = np.geomspace(1, 1e4, 5), np.arange(5, 45, 5)
    r2 = 0.5 - 0.02 * np.add.outer((np.log10(alphas) - 2) ** 2, (ranks / 10 - 2) ** 2)
    inert = np.array([ranks > 30, ranks > 20])
    shape = ("split", "gamma", "alpha", "rank")
    values = {"r2": (shape, np.stack([r2, r2])[:, None]), "inert": (("split", "rank"), inert)}
    return plotting.selection_grid(xr.Dataset(values, {"gamma": [1.0], "alpha": alphas, "rank": ranks}))


def perturbation(make_scores):
    t = np.linspace(0, 4, 9)
    mse = np.stack([0.5 + 0.4 * t**2, 0.6 + 0.1 * t**2, 0.9 + 0 * t])[None, ..., None] + [-0.1, 0, 0.1]
    coords = {"algorithm": ["MLR"], "method": ["PA", "plain", "IV"], "t": t}
    return plotting.perturbation(xr.Dataset({"mse": ((*coords, "repeat"), mse)}, coords), width="one")


DRAWINGS = {"difference": difference, "selection_grid": grid, "perturbation": perturbation}


def compare(figure: Figure, name: str, folder: Path) -> str | None:
    expected, actual = folder / f"{name}-expected.png", folder / f"{name}.png"
    figure.savefig(actual, dpi=60)
    if os.environ.get("CLIMANCHOR_UPDATE_IMAGES"):
        (REFERENCE / f"{name}.png").write_bytes(actual.read_bytes())
    expected.write_bytes((REFERENCE / f"{name}.png").read_bytes())
    return compare_images(expected, actual, tol=TOLERANCE)


@pytest.mark.parametrize("name", DRAWINGS)
def test_figure_looks_like_its_reference(name, make_scores, tmp_path):
    assert compare(DRAWINGS[name](make_scores), name, tmp_path) is None


@pytest.mark.skipif("CLIMANCHOR_UPDATE_IMAGES" in os.environ, reason="the references are being made anew")
def test_the_wrong_sign_does_not_look_like_the_reference(make_scores, tmp_path):
    """The tolerance is small enough to see plain − anchored instead of anchored − plain."""
    assert compare(difference(make_scores, sign=-1), "difference", tmp_path) is not None


def test_saved_files_have_the_same_bytes_and_no_dates(make_scores, tmp_path):
    first = plotting.save(difference(make_scores), tmp_path / "a" / "map.v1")
    second = plotting.save(difference(make_scores), tmp_path / "b" / "map.v1")
    assert [path.name for path in first] == ["map.v1.png", "map.v1.pdf"]
    for one, two in zip(first, second, strict=True):
        content = one.read_bytes()
        assert content == two.read_bytes(), one.name
        assert b"CreationDate" not in content
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["map.v1.pdf", "map.v1.png"]


def test_saved_drawings_are_the_same_as_vectors_too(make_scores, tmp_path):
    first, second = (plotting.save(perturbation(make_scores), tmp_path / n, formats=("svg",))[0] for n in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert b"dc:date" not in first.read_bytes()


def test_unknown_formats_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"cannot write figures as \['gif'\]; choose among"):
        plotting.save(new_figure("one", 1.0), tmp_path / "figure", formats=("png", "gif"))
    assert list(tmp_path.iterdir()) == []


def test_figures_show_themselves_in_notebooks(make_map):
    assert plotting.map_field(make_map())._repr_png_().startswith(b"\x89PNG")


def test_the_style_holds_when_a_figure_is_drawn_later(make_scores, draw):
    """Drawn outside the plotting function, under the user's own settings, the picture is the same."""
    import matplotlib

    usual, later = draw(difference(make_scores), 80), difference(make_scores)
    with matplotlib.rc_context({"hatch.linewidth": 5.0, "font.sans-serif": ["DejaVu Serif"]}):
        np.testing.assert_array_equal(draw(later, 80), usual)


def test_the_users_own_settings_do_not_change_the_figures(make_scores, draw):
    import matplotlib

    usual = draw(difference(make_scores), 80)
    with matplotlib.rc_context({"font.size": 20, "axes.linewidth": 4}):
        np.testing.assert_array_equal(draw(difference(make_scores), 80), usual)


@pytest.mark.parametrize(("width", "inches"), [("one", 3.5), ("two", 7.2)])
def test_figures_have_the_width_of_columns(make_scores, width, inches):
    assert difference(make_scores).get_figwidth() == 7.2
    assert plotting.map_scores(make_scores(), width=width).get_figwidth() == inches

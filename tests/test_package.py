"""The public names, what importing the package costs, and what it must not import."""

import importlib
import json
import subprocess
import sys

import pytest

import climanchor

PUBLIC = {
    "Anchor", "CVP", "Fingerprint", "IRM", "Moments", "OPLS", "ReducedRankRidge", "Run", "Selection", "__version__",
    "annual_mean", "anomalies", "common_period", "coverage", "datasets", "decadal_variability", "describe_run",
    "detect", "detection", "div_magnitude", "estimators", "experiments", "find_runs", "fit_fingerprint",
    "forced_response", "global_mean", "is_anchor_compatible", "kernels", "land_mask", "open_prepared", "open_runs",
    "plotting", "prepare", "read_catalogue", "regrid", "regular_grid", "save_prepared", "select", "simulate",
    "worst_case_risk",
}  # fmt: skip
HEAVY = ["cartopy", "dask", "distributed", "matplotlib", "pandas", "scipy", "sklearn", "xarray", "xesmf"]


def imported_after(statement: str) -> set[str]:
    """The heavy packages that a fresh interpreter has loaded after ``statement``."""
    code = f"import json, sys; {statement}; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_public_names_are_these():
    assert set(climanchor.__all__) == PUBLIC
    assert dir(climanchor) == sorted(PUBLIC)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_resolve_and_are_documented(name):
    value = getattr(climanchor, name)
    assert name == "__version__" or value.__doc__


def test_unknown_names_are_an_attribute_error():
    with pytest.raises(AttributeError, match="'climanchor' has no attribute 'fingerprnit'"):
        _ = climanchor.fingerprnit


def test_import_loads_nothing_heavy():
    assert imported_after("import climanchor") == set()


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("from climanchor import Moments", {"scipy"}),
        (
            "from climanchor import Anchor, OPLS, ReducedRankRidge",
            {"pandas", "scipy", "sklearn"},
        ),  # sklearn loads pandas
    ],
)
def test_numerics_do_not_load_labels_or_figures(statement, allowed):
    assert imported_after(statement) - allowed == set()


@pytest.mark.parametrize("name", ["find_runs", "prepare", "select", "detect"])
def test_data_and_fitting_do_not_load_figures_or_a_cluster(name):
    assert not imported_after(f"from climanchor import {name}") & {"cartopy", "distributed", "matplotlib", "xesmf"}


def test_import_takes_less_than_a_second():
    code = "import time; t = time.perf_counter(); import climanchor; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    assert min(float(run.stdout) for run in runs) < 1.0


@pytest.mark.parametrize(
    "module", ["archive", "detection", "estimators", "experiments", "fingerprint", "kernels", "preprocess", "simulate"]
)
def test_subpackages_list_what_they_export(module):
    package = importlib.import_module(f"climanchor.{module}")
    assert package.__all__
    assert [name for name in package.__all__ if name not in vars(package)] == []

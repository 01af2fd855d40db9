"""What each step of the climate experiment does with its inputs: thin calls of the scientific functions.

Every function here returns the ``build`` of a :class:`~climanchor.workflow.store.Step`.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from climanchor.archive import Run, Runs, coverage, coverage_years
from climanchor.detection import detect, expected_series, load_observations, prepare_control, rebase
from climanchor.fingerprint import Fingerprint, Selection, fit_fingerprint, select
from climanchor.preprocess import div_magnitude, prepare, regular_grid
from climanchor.preprocess.anomaly import short_members
from climanchor.simulate import write_archive
from climanchor.workflow import netcdf, salvage
from climanchor.workflow.schema import ClimateRecipe
from climanchor.workflow.sections import Drift, Observations, Prepare, Simulate
from climanchor.workflow.store import Product

Build = Callable[[Path, Mapping[str, Product], Path], None]

ARCHIVE = "archive"


def archive(settings: Simulate, models: Sequence[str]) -> Build:
    """Write the synthetic archive of ``models``."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        # A killed archive resumes: the files it finished wait in scratch until all are there.
        write_archive(
            scratch / ARCHIVE, size=settings.size, seed=settings.seed, models=models, members=settings.members,
            years=settings.years,
        )  # fmt: skip
        (scratch / ARCHIVE).rename(folder / ARCHIVE)

    return build


def coverage_table(runs: Sequence[Run], control_exp: str | None) -> Build:
    """What each run has and lacks; and, but for control runs, which years of it are complete."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        coverage(runs).to_csv(folder / "coverage.csv", index=False)
        coverage_years(run for run in runs if run.experiment != control_exp).to_csv(folder / "years.csv")

    return build


def prepared(runs: Sequence[Run], settings: Prepare, years: tuple[int, int] | None) -> Build:
    """Annual anomalies, forced response and DIV of one climate model.

    Files that fail while read are left out, and a model whose data do not allow it is set aside with the reason,
    for the report: the others go on.
    """

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        def attempt(some: Runs) -> xr.DataTree:
            return prepare(
                some, grid=regular_grid(settings.grid), method=settings.method, reference=settings.reference,
                min_reference_years=settings.min_reference_years, window=settings.window,
                leave_one_out=settings.leave_one_out, weighted=settings.area_weighted, years=years,
                short_members=settings.short_members,
            )  # fmt: skip

        salvage.write_model(folder, runs, attempt)

    return build


def variability(models: Sequence[str]) -> Build:
    """The magnitude of DIV of each climate model, raw and corrected for the size of its ensemble."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        with prepared_data(inputs, models) as data:
            netcdf.write(div_magnitude(data), folder / "variability.nc")

    return build


def selection(recipe: ClimateRecipe, models: Sequence[str], tell: Callable[[int, int], None]) -> Build:
    """Validation scores of every candidate; splits finished before a kill are found in ``scratch``."""
    settings = recipe.selection
    assert settings is not None

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        with prepared_data(inputs, models) as data:
            chosen = select(
                data, models=list(data.children), gammas=recipe.gammas, alphas=settings.alphas, ranks=settings.ranks,
                n_splits=settings.splits, samples_per_model=recipe.samples_per_model, seed=recipe.seed,
                families=list(settings.families.values()) or None, store=scratch, progress=tell,
            )  # fmt: skip
        chosen.to_netcdf(folder / "selection.nc")

    return build


def choose(recipe: ClimateRecipe, scores: Selection | None, gamma: float) -> tuple[float, int]:
    """α and ρ for ``gamma``: fixed in the recipe, or by its rule on the validation scores."""
    fixed = recipe.fingerprint
    if scores is None or recipe.selection is None:
        assert fixed.alpha is not None
        assert fixed.rank is not None
        return fixed.alpha, fixed.rank
    rule = recipe.selection.rule
    if rule in ("published", "per_gamma"):
        choice = scores.best(rule, gamma=gamma)
    else:
        choice = scores.best(rule, weight=recipe.selection.weight)
    return (
        choice.alpha if fixed.alpha is None else fixed.alpha,
        choice.rank if fixed.rank is None else fixed.rank,
    )


def fingerprint(recipe: ClimateRecipe, models: Sequence[str], gamma: float) -> Build:
    """Fit at one γ on all training models with the chosen α and ρ."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        scores = Selection.from_netcdf(inputs["selection"].file("selection.nc")) if "selection" in inputs else None
        alpha, rank = choose(recipe, scores, gamma)
        with prepared_data(inputs, models) as data:
            fit(data, recipe, gamma, alpha, rank).to_netcdf(folder / "fingerprint.nc")

    return build


def fit(data: xr.DataTree, recipe: ClimateRecipe, gamma: float, alpha: float, rank: int) -> Fingerprint:
    """A fingerprint on all models of ``data``, with the samples and the seed of the recipe."""
    return fit_fingerprint(
        data, models=list(data.children), gamma=gamma, alpha=alpha, rank=rank,
        samples_per_model=recipe.samples_per_model, seed=recipe.seed,
    )  # fmt: skip


def scores(models: Sequence[str]) -> Build:
    """R² and residual–DIV correlation on ``models``, pooled and by model."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        fitted = Fingerprint.from_netcdf(inputs["fingerprint"].file("fingerprint.nc"))
        with prepared_data(inputs, models) as data:
            netcdf.write(fitted.score(data, models=list(data.children)), folder / "scores.nc")

    return build


def control(runs: Sequence[Run], settings: Prepare, drift: Drift) -> Build:
    """Annual unforced anomalies of one climate model's control runs."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        salvage.write_model(
            folder, runs, lambda some: prepare_control(some, grid=regular_grid(settings.grid), drift=drift)
        )

    return build


def observations(settings: Observations, grid: float, reference: tuple[int, int]) -> Build:
    """Observed anomalies on the grid and the reference period of the models."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        variable = settings.short_name or ("tas_mean" if settings.simulated else None)
        path = settings.path or next((inputs["archive"].folder / ARCHIVE / "observations").glob("*.nc"))
        observed = load_observations(
            path, grid=regular_grid(grid), reference=reference, variable=variable,
            units=settings.units, min_reference_years=settings.min_reference_years,
        )  # fmt: skip
        netcdf.write(observed.to_dataset(name="observations"), folder / "observations.nc")

    return build


def detection(recipe: ClimateRecipe, controls: Sequence[str], test: Sequence[str], train: Sequence[str]) -> Build:
    """Test the observations with one fingerprint; held-out members give size and power.

    Where the test has a reference period of its own, the fingerprint is refitted on models rebased to it.
    """
    settings = recipe.detection
    assert settings is not None

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        fitted = Fingerprint.from_netcdf(inputs["fingerprint"].file("fingerprint.nc"))
        observed = netcdf.read(inputs["observations"].file("observations.nc"))["observations"]
        with contextlib.ExitStack() as stack:
            unforced = stack.enter_context(prepared_data(inputs, controls, "control"))
            held_out, training = (stack.enter_context(prepared_data(inputs, models)) for models in (test, train))
            if not unforced.children:
                raise ValueError(f"no control run is usable: {_reasons(inputs, controls)}")
            if settings.reference is not None:
                held_out, training = (
                    rebased(data, recipe.prepare, settings.reference) for data in (held_out, training)
                )
                if not training.children:
                    raise ValueError(f"no training model has enough years of detection.reference {settings.reference}")
                fitted = fit(training, recipe, fitted.gamma, fitted.alpha, fitted.rank)
            correlation = settings.statistic == "correlation"
            result = detect(
                fitted, observations=observed, control=unforced, statistic=settings.statistic, window=settings.window,
                expected=expected_series(training, models=list(training.children)) if correlation else None,
                null=settings.null, sided=settings.sided, level=settings.level, inflations=settings.inflations,
                min_coverage=settings.min_coverage, pseudo_observations=held_out if held_out.children else None,
            )  # fmt: skip
        netcdf.write(result, folder / "detection.nc")

    return build


def rebased(data: xr.DataTree, settings: Prepare, reference: tuple[int, int]) -> xr.DataTree:
    """Prepared data with anomalies from another period: that of observations that do not reach back far enough.

    Members with too few years of it are left out where the recipe asks for that, and models left with one member.
    """
    least = min(settings.min_reference_years, reference[1] - reference[0] + 1)
    nodes: dict[str, Any] = {}
    for name, node in data.children.items():
        one, gone = node.to_dataset(), {}
        if settings.short_members == "drop":
            gone = short_members(one["field"], reference, least)
        kept = one.drop_sel(member=list(gone))
        if gone:
            left = "too few members for it" if kept.sizes["member"] < 2 else f"{kept.sizes['member']} members left"
            years = f"{reference[0]}-{reference[1]}"
            warnings.warn(f"{name}: {', '.join(gone)} lack years of {years}: {left}", stacklevel=2)
        if kept.sizes["member"] > 1 or not gone:
            nodes[name] = kept
    if not nodes:
        return xr.DataTree()
    tree = xr.DataTree.from_dict(nodes)
    return rebase(tree, reference=reference, min_reference_years=least, window=settings.window)


def _reasons(inputs: Mapping[str, Product], controls: Sequence[str]) -> str:
    return "; ".join(f"{model}: {salvage.reason(inputs[f'control:{model}'])}" for model in controls)


def usable(inputs: Mapping[str, Product], models: Iterable[str], kind: str = "prepared") -> dict[str, Path]:
    """The file of each model that was not set aside."""
    products = {model: inputs[f"{kind}:{model}"] for model in models}
    return {m: p.file(f"{m}.nc") for m, p in products.items() if not salvage.is_set_aside(p)}


@contextlib.contextmanager
def prepared_data(
    inputs: Mapping[str, Product], models: Iterable[str], kind: str = "prepared"
) -> Iterator[xr.DataTree]:
    """The prepared models as one lazy tree, a chunk per member; closed at the end of the block."""
    with contextlib.ExitStack() as stack:
        files = usable(inputs, models, kind)
        nodes: dict[str, Any] = {
            model: stack.enter_context(netcdf.read(path, chunks={"member": 1})) for model, path in files.items()
        }
        yield xr.DataTree.from_dict(nodes)

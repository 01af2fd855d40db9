"""The figures of the climate experiment: what each shows, from which products, in which words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from climanchor import plotting
from climanchor.fingerprint import Fingerprint, Selection
from climanchor.workflow import netcdf, products
from climanchor.workflow.climate import ClimatePlan
from climanchor.workflow.drawings import Drawing
from climanchor.workflow.metrics import gamma_key
from climanchor.workflow.schema import ClimateRecipe
from climanchor.workflow.store import Product, Step

Inputs = Mapping[str, Product]


def pictures(plan: ClimatePlan) -> Iterator[Drawing]:
    """Every figure of a plan, in the order of the report."""
    yield from _data(plan)
    if "selection" in plan.steps:
        yield from _choices(plan)
    yield from _scores(plan)
    yield from _patterns(plan)
    yield from _detection(plan)


def _data(plan: ClimatePlan) -> Iterator[Drawing]:
    train, test = plan.models("train"), plan.models("test")
    models = [*train, *test]
    yield Drawing(
        "coverage", "data", "Years of every member",
        "One row per member; a mark for every year of which the files hold every month. Gaps are visible as gaps.",
        {"coverage": plan.steps["coverage"]}, _draw_coverage,
    )  # fmt: skip

    def magnitudes(inputs: Inputs) -> Any:
        with products.prepared_data(inputs, models) as data:
            left = [m for m in train if m in data.children], [m for m in test if m in data.children]
            return plotting.div_magnitude(data, train=left[0], test=left[1])

    yield Drawing(
        "div_magnitude", "data", "Decadal internal variability by model",
        "Standard deviation over time of DIV of each member (marks), their mean (bars) and the mean corrected for the "
        "size of the ensemble (diamonds), for training and test models.",
        plan.prepared(models), magnitudes,
    )  # fmt: skip

    def series(inputs: Inputs) -> Any:
        with products.prepared_data(inputs, models) as data:
            return plotting.div_series(data, models=calm_and_lively(data))

    yield Drawing(
        "div_series", "data", "Internal variability and forced response",
        "DIV of every member with the global mean of the forced response, for the model of the lowest and of the "
        "highest variability.",
        plan.prepared(models), series,
    )  # fmt: skip


def calm_and_lively(data: xr.DataTree) -> list[str]:
    """The models of the smallest and the largest standard deviation of DIV."""
    spread = {name: float(node["div"].std("year").mean()) for name, node in data.children.items()}
    return list(dict.fromkeys([min(spread, key=lambda m: spread[m]), max(spread, key=lambda m: spread[m])]))


def _draw_coverage(inputs: Inputs) -> Any:
    years = pd.read_csv(inputs["coverage"].file("years.csv"), index_col=["model", "experiment", "member"])
    years.columns = years.columns.astype(int).rename("year")
    return plotting.coverage(years.astype(bool))


def _choices(plan: ClimatePlan) -> Iterator[Drawing]:
    recipe, selected = plan.recipe, {"selection": plan.steps["selection"]}
    rule = recipe.selection.model_dump(include={"rule", "weight"}) if recipe.selection else {}
    at = 1.0 if 1.0 in recipe.gammas else recipe.gammas[0]

    def grid(inputs: Inputs) -> Any:
        chosen = _selection(inputs)
        return plotting.selection_grid(chosen, gamma=at, chosen=_choice(recipe, chosen, at))

    yield Drawing(
        "selection_grid", "choices", "Validation R² of every candidate",
        f"Mean over the splits of the validation R² at γ = {gamma_key(at)} for every α and rank ρ; the star is the "
        "choice, the white dot the highest. Hatched ranks are inert: they exceed the rank of the targets.",
        selected, grid, {**rule, **recipe.fingerprint.model_dump(), "gamma": at},
    )  # fmt: skip

    def front(inputs: Inputs) -> Any:
        chosen = _selection(inputs)
        marked = {f"γ = {gamma_key(g)}": _choice(recipe, chosen, g) for g in recipe.gammas}
        return plotting.pareto(chosen, chosen=marked)

    yield Drawing(
        "pareto", "choices", "Trade-off between R² and independence of internal variability",
        "Every candidate (γ, α, ρ) by its validation R² and mean |r|, the Pareto front, and the choices. The best "
        "corner is the upper left.",
        selected, front, {**rule, **recipe.fingerprint.model_dump(), "gammas": list(map(gamma_key, recipe.gammas))},
    )  # fmt: skip


def _scores(plan: ClimatePlan) -> Iterator[Drawing]:
    role = "test" if plan.models("test") else "train"
    gammas = plan.recipe.gammas
    steps = {gamma_key(g): plan.steps[f"scores:{gamma_key(g)}:{role}"] for g in gammas}
    if len(gammas) > 1:
        yield _by_gamma(plan)
    if "1" in steps:
        for gamma in gammas:
            if gamma != 1.0:
                yield _difference(steps, gamma_key(gamma), role)
    yield Drawing(
        "r2", "scores", f"R² on {role} models",
        f"Coefficient of determination of the forced response in every cell, {role} models pooled with equal weight.",
        steps, _map_of(list(steps), plotting.map_r2),
    )  # fmt: skip
    yield Drawing(
        "residual_correlation", "scores", f"Residuals and internal variability on {role} models",
        "Correlation r of the residuals (forced minus predicted) with DIV in every cell; zero is best.",
        steps, _map_of(list(steps), plotting.map_residual_correlation),
    )  # fmt: skip


def _by_gamma(plan: ClimatePlan) -> Drawing:
    roles = [role for role in ("train", "test") if plan.models(role)]
    keys = [gamma_key(g) for g in plan.recipe.gammas]
    steps = {f"{role}:{key}": plan.steps[f"scores:{key}:{role}"] for role in roles for key in keys}

    def draw(inputs: Inputs) -> Any:
        lines = {}
        for role in roles:
            parts = [netcdf.read(inputs[f"{role}:{key}"].file("scores.nc"))[["r2_mean", "r_abs_mean"]] for key in keys]
            gammas = xr.DataArray([float(key) for key in keys], dims="gamma", name="gamma")
            lines[role] = xr.concat(parts, gammas).sortby("gamma")
        return plotting.scores_by_gamma(lines)

    return Drawing(
        "scores_by_gamma", "scores", "Scores against γ",
        "Mean over cells of R² and of |r|, the correlation of residuals with DIV, on training and test models.",
        steps, draw, {"gammas": keys},
    )  # fmt: skip


def _difference(steps: Mapping[str, Step], key: str, role: str) -> Drawing:
    def draw(inputs: Inputs) -> Any:
        anchored, plain = (netcdf.read(inputs[k].file("scores.nc")) for k in (key, "1"))
        return plotting.map_difference(anchored, plain, names=(f"γ = {key}", "γ = 1"), mean=True)

    return Drawing(
        f"difference_gamma-{key}", "scores", f"What anchor regularisation changes: γ = {key} against γ = 1",
        f"Difference of R² (A) and of |r| (B) on {role} models; red and hatched where γ = {key} is better.",
        {key: steps[key], "1": steps["1"]}, draw,
    )  # fmt: skip


def _map_of(keys: Sequence[str], function: Callable[..., Any]) -> Callable[[Inputs], Any]:
    def draw(inputs: Inputs) -> Any:
        return function({f"γ = {key}": netcdf.read(inputs[key].file("scores.nc")) for key in keys}, mean=True)

    return draw


def _patterns(plan: ClimatePlan) -> Iterator[Drawing]:
    train = plan.models("train")

    def forced(inputs: Inputs) -> Any:
        with products.prepared_data(inputs, train) as data:
            return plotting.map_forced(data)

    yield Drawing(
        "forced", "patterns", "Forced response of the training models",
        "Mean over the members, averaged over the last 20 years: what the fingerprints learn to predict.",
        plan.prepared(train), forced,
    )  # fmt: skip
    key = gamma_key(plan.recipe.gammas[-1])

    def modes(inputs: Inputs) -> Any:
        fitted = Fingerprint.from_netcdf(inputs["fingerprint"].file("fingerprint.nc"))
        return plotting.map_patterns(fitted, modes=min(4, fitted.patterns.sizes["mode"]))

    yield Drawing(
        f"patterns_gamma-{key}", "patterns", f"Leading patterns of the fingerprint at γ = {key}",
        "Target-side factor maps, in the order of how much of the forced response they predict.",
        {"fingerprint": plan.steps[f"fingerprint:{key}"]}, modes,
    )  # fmt: skip


def _detection(plan: ClimatePlan) -> Iterator[Drawing]:
    prefix = "detection:"
    steps = {name.removeprefix(prefix): step for name, step in plan.steps.items() if name.startswith(prefix)}
    if not steps:
        return

    def drawn_by(function: Callable[..., Any]) -> Callable[[Inputs], Any]:
        def draw(inputs: Inputs) -> Any:
            return function({f"γ = {key}": netcdf.read(inputs[key].file("detection.nc")) for key in steps})

        return draw

    yield Drawing(
        "null_distribution", "detection", "The observed statistic and what internal variability makes",
        "Statistics of independent control segments (bars; each model with the same weight), the critical values "
        "(dashed) and the observed one.",
        steps, drawn_by(plotting.null_distribution),
    )  # fmt: skip
    yield Drawing(
        "detection_series", "detection", "Forced response predicted from the observations",
        "Global mean of the prediction, with the band of the projected control runs (mean ± 2 standard deviations).",
        steps, drawn_by(plotting.detection_series),
    )  # fmt: skip


def _selection(inputs: Inputs) -> Selection:
    return Selection.from_netcdf(inputs["selection"].file("selection.nc"))


def _choice(recipe: ClimateRecipe, selection: Selection, gamma: float) -> Any:
    from climanchor.fingerprint import Choice

    alpha, rank = products.choose(recipe, selection, gamma)
    return Choice(gamma, alpha, rank)

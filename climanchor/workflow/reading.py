"""Reading the products of a climate plan: as datasets, and as the numbers of ``metrics.json``."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from climanchor.archive import Problem
from climanchor.detection import summary as detection_summary
from climanchor.fingerprint import Selection
from climanchor.workflow import netcdf, products, salvage
from climanchor.workflow.climate import ClimatePlan
from climanchor.workflow.metrics import gamma_key
from climanchor.workflow.session import Session

SCORES = {"r2": "r2_mean", "r2_area": "r2_area_mean", "r": "r_mean", "r_abs": "r_abs_mean"}
SKILLS = ("trend_skill", "trend_correlation", "spatiotemporal_skill", "spatiotemporal_correlation")
NULLS = ("calm", "matching")


class Reader:
    """Reads what the products of a plan say; nothing is computed from the data again."""

    def __init__(self, plan: ClimatePlan, session: Session) -> None:
        self.plan, self.session, self.recipe = plan, session, plan.recipe

    def dataset(self, step: str, name: str) -> xr.Dataset:
        """A netCDF product."""
        return netcdf.read(self.session.products[self.plan.steps[step].key].file(name))

    def selection(self) -> Selection | None:
        """The validation scores, if there was a selection."""
        if "selection" not in self.plan.steps:
            return None
        step = self.plan.steps["selection"]
        return Selection.from_netcdf(self.session.products[step.key].file("selection.nc"))

    def coverage(self) -> pd.DataFrame:
        """The coverage table."""
        step = self.plan.steps["coverage"]
        return pd.read_csv(self.session.products[step.key].file("coverage.csv"), keep_default_na=False)

    def wrong(self) -> list[Problem]:
        """Files that could not become a run or failed while read, and control runs that could not be used."""
        problems = list(self.plan.found.problems)
        for name, step in self.plan.steps.items():
            kind, _, model = name.partition(":")
            if kind in ("prepared", "control"):
                product = self.session.products[step.key]
                problems += salvage.left_out(product)
                if kind == "control" and salvage.is_set_aside(product):
                    problems.append(Problem(model, "control runs", "", salvage.reason(product)))
        return problems

    def scores(self, gamma: float, role: str) -> xr.Dataset | None:
        """The scores of a fingerprint on training or test models."""
        step = f"scores:{gamma_key(gamma)}:{role}"
        return self.dataset(step, "scores.nc") if step in self.plan.steps else None

    def detections(self) -> dict[float, xr.Dataset]:
        """The result of detection for each γ."""
        names = {gamma: f"detection:{gamma_key(gamma)}" for gamma in self.recipe.gammas}
        return {g: self.dataset(n, "detection.nc") for g, n in names.items() if n in self.plan.steps}

    def missing(self, step: str) -> str:
        """Why a step of the plan made nothing; empty where it did, or was not planned."""
        product = self.session.products[self.plan.steps[step].key] if step in self.plan.steps else None
        return salvage.reason(product) if product is not None and salvage.is_set_aside(product) else ""

    def _if_made(self, step: str) -> xr.Dataset | None:
        made = step in self.plan.steps and not self.missing(step)
        return self.dataset(step, f"{step}.nc") if made else None

    def scorecard(self) -> xr.Dataset | None:
        """Skill of fingerprints and baselines on test models, where it could be measured."""
        return self._if_made("scorecard")

    def over_confidence(self) -> xr.Dataset | None:
        """Size of the test against nulls from calm and from matching models, where it could be measured."""
        return self._if_made("over_confidence")


def climate_metrics(reader: Reader) -> dict[str, Any]:
    """The nested content of ``metrics.json``."""
    selection = reader.selection()
    metrics: dict[str, Any] = {"scores": {}, "selection": _selection_metrics(reader, selection)}
    for gamma in reader.recipe.gammas:
        metrics["scores"][gamma_key(gamma)] = _scores_of(reader, gamma, selection)
    magnitude = reader.dataset("variability", "variability.nc")
    metrics["div_magnitude"] = {str(m): float(magnitude["raw"].sel(model=m)) for m in magnitude["model"].values}
    metrics["div_magnitude_corrected"] = {
        str(m): float(magnitude["corrected"].sel(model=m)) for m in magnitude["model"].values
    }
    metrics["data"] = _data_metrics(reader)
    card = reader.scorecard()
    if card is not None:
        metrics["scorecard"] = {
            str(name).replace(" ", "_"): {skill: float(card[skill].sel(estimate=name)) for skill in SKILLS}
            for name in card["estimate"].values
        }
    detections = {gamma_key(g): detection_summary(result) for g, result in reader.detections().items()}
    sizes = reader.over_confidence()
    for key in [] if sizes is None else detections:
        assert sizes is not None
        at = sizes["size"].sel(fingerprint=key)
        detections[key] |= {f"size_{null}": float(at.sel(null=null)) for null in NULLS}
    return metrics | ({"detection": detections} if detections else {})


def _scores_of(reader: Reader, gamma: float, selection: Selection | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for role in ("train", "test"):
        scores = reader.scores(gamma, role)
        if scores is not None:
            found[role] = {name: float(scores[variable]) for name, variable in SCORES.items()}
            found[role]["by_model"] = {
                str(m): {n: float(scores[f"{v}_by_model"].sel(model=m)) for n, v in SCORES.items()}
                for m in scores["model"].values
            }
    if selection is not None:
        alpha, rank = products.choose(reader.recipe, selection, gamma)
        mean = selection.mean()
        if alpha in mean["alpha"].values and rank in mean["rank"].values:
            here = mean.sel(gamma=gamma, alpha=alpha, rank=rank)
            found["validation"] = {name: float(here[name]) for name in SCORES}
    return found


def _selection_metrics(reader: Reader, selection: Selection | None) -> dict[str, Any]:
    recipe = reader.recipe
    choices = {g: products.choose(recipe, selection, g) for g in recipe.gammas}
    first = recipe.gammas[0] if 1.0 not in recipe.gammas else 1.0
    metrics: dict[str, Any] = {"alpha": choices[first][0], "rank": choices[first][1], "seed": recipe.seed}
    if selection is None or recipe.selection is None:
        return metrics | {"rule": "fixed"}
    scores = selection.scores
    inert = scores["inert"].all("split")
    metrics |= {
        "rule": recipe.selection.rule,
        "splits": int(scores.sizes["split"]),
        "target_rank": int(scores["target_rank"].max()),
        "inert_ranks": [int(r) for r in scores["rank"].values[inert.values]],
    }
    if recipe.selection.rule == "per_gamma":
        metrics |= {gamma_key(g): {"alpha": a, "rank": r} for g, (a, r) in choices.items()}
    elif recipe.selection.rule in ("weighted", "pareto"):
        metrics["gamma"] = selection.best(recipe.selection.rule, weight=recipe.selection.weight).gamma
    return metrics


def _data_metrics(reader: Reader) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for role in ("train", "test"):
        inputs = {f"prepared:{m}": reader.session.products[reader.plan.steps[f"prepared:{m}"].key]
                  for m in reader.plan.models(role)}  # fmt: skip
        for model, path in products.usable(inputs, reader.plan.models(role)).items():
            with xr.open_dataset(path) as dataset:
                years = dataset["year"].values
                rows[model] = {"role": role, "members": int(dataset.sizes["member"]), "first_year": int(years[0]),
                               "last_year": int(years[-1])}  # fmt: skip
    return rows

"""The climate experiment for its readers: the tables and sections of the page, from the products."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from climanchor.fingerprint import Selection
from climanchor.workflow import published
from climanchor.workflow.climate import ClimatePlan
from climanchor.workflow.detection_page import detection_section, equation
from climanchor.workflow.drawings import Drawing, page_figure
from climanchor.workflow.metrics import gamma_key
from climanchor.workflow.page import Cell, Figure, PageSection, Table, number
from climanchor.workflow.reading import Reader, climate_metrics
from climanchor.workflow.scorecard_page import skill_section
from climanchor.workflow.session import Session
from climanchor.workflow.store import Step
from climanchor.workflow.study import Findings

ROLES = ("train", "validation", "test")


def findings(
    plan: ClimatePlan, session: Session, drawings: Sequence[tuple[Drawing, Step]], aside: dict[str, str]
) -> Findings:
    """Everything a finished run has to say."""
    reader = Reader(plan, session)
    metrics = climate_metrics(reader)
    table = score_table(reader, metrics)
    figures = {
        section: [page_figure(d, step, session) for d, step in drawings if d.section == section]
        for section in ("data", "choices", "scores", "patterns", "detection")
    }
    sections = [
        _asked(reader),
        _data(reader, metrics, aside, figures["data"]),
        _choices(reader, metrics, figures["choices"]),
        PageSection("scores", "Scores", _score_words(metrics, reader), [table, *_by_model(reader)], figures["scores"]),
    ]
    skill = skill_section(reader)
    sections += [skill] if skill is not None else []
    if figures["patterns"]:
        sections.append(PageSection("patterns", "The fingerprints", figures=figures["patterns"]))
    if reader.detections():
        sections.append(detection_section(reader, metrics, figures["detection"]))
    return Findings(
        metrics, sections, _summary(reader, metrics), table, _warnings(reader, aside), _files(plan),
        [*plan.steps.values(), *(step for _, step in drawings)],
    )  # fmt: skip


def score_table(reader: Reader, metrics: dict[str, Any]) -> Table:
    """Our scores with the published ones beside them."""
    standing_beside = all(set(reader.plan.models(role)) == models for role, models in published.ROLES.items())
    rows: list[list[Cell]] = []
    for gamma in reader.recipe.gammas:
        for role in ROLES:
            ours = metrics["scores"][gamma_key(gamma)].get(role)
            if ours is None:
                continue
            theirs = published.SCORES.get((gamma, role), (None, None)) if standing_beside else (None, None)
            rows.append([gamma_key(gamma), role, ours["r2"], theirs[0], ours["r2_area"], -ours["r"], theirs[1],
                         ours["r_abs"]])  # fmt: skip
    columns = ["γ", "models", "R²", "R² published", "R², area-weighted", "−r", "r published", "mean |r|"]
    if not standing_beside:
        kept = [i for i, name in enumerate(columns) if "published" not in name]
        columns, rows = [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
    note = published.SIGN if standing_beside else ""
    caption = (
        "R²: how much of the forced response is explained, mean over grid cells. "
        "r: mean correlation of the residuals with decadal internal variability; zero is best."
    )
    return Table(columns, rows, caption, note)


def _score_words(metrics: dict[str, Any], reader: Reader) -> list[str]:
    words = [
        "A robust fingerprint keeps its R² on models it has not seen, and leaves residuals that do not follow "
        "internal variability. γ = 1 is the plain estimator; larger γ guards against stronger variability.",
        "Train and test scores use every sample of those models, each model with the same weight; validation is the "
        "mean over the splits, on the half of the training models left out.",
    ]
    same = all(set(reader.plan.models(role)) == models for role, models in published.ROLES.items())
    if reader.recipe.simulate is not None and same:
        words.append(
            "These data are synthetic. The published values stand beside them for orientation; agreement in kind is "
            "to be expected, agreement in digits is not."
        )
    return words


def _by_model(reader: Reader) -> list[Table]:
    rows: list[list[Cell]] = []
    for gamma in reader.recipe.gammas:
        for role in ("train", "test"):
            scores = reader.scores(gamma, role)
            for model in [] if scores is None else scores["model"].values:
                one = scores.sel(model=model) if scores is not None else None
                assert one is not None
                rows.append([gamma_key(gamma), role, str(model), float(one["r2_mean_by_model"]),
                             float(one["r2_area_mean_by_model"]), -float(one["r_mean_by_model"]),
                             float(one["r_abs_mean_by_model"])])  # fmt: skip
    columns = ["γ", "models", "model", "R²", "R², area-weighted", "−r", "mean |r|"]
    return [Table(columns, rows, "Scores by climate model", folded=True)]


def _asked(reader: Reader) -> PageSection:
    recipe = reader.recipe
    prepare = recipe.prepare
    where = "the synthetic archive" if recipe.simulate else ", ".join(map(str, recipe.root or [])) or "files given"
    rows = [
        ["data", f"{recipe.variable.short_name}, {recipe.variable.exp}, from {where}"],
        ["training models", ", ".join(d.model for d in recipe.datasets.train)],
        ["test models", ", ".join(d.model for d in recipe.datasets.test) or "none"],
        ["grid", f"{prepare.grid:g}° × {prepare.grid:g}°, {prepare.method} remapping"],
        ["anomalies", f"from the mean of {prepare.reference[0]}–{prepare.reference[1]}, by member and cell "
                      f"(at least {prepare.min_reference_years} of these years)"],
        ["forced response", f"mean over the {'other ' if prepare.leave_one_out else ''}members"],
        ["DIV", f"{'area-weighted' if prepare.area_weighted else 'unweighted'} global mean of member minus forced "
                f"response, {prepare.window}-year centred running mean, complete windows only"],
        ["γ", ", ".join(gamma_key(g) for g in recipe.gammas)],
        ["samples", f"{recipe.samples_per_model or 'all'} per model, seed {recipe.seed}"],
    ]  # fmt: skip
    return PageSection("asked", "What was asked", tables=[Table(["", ""], rows)])


def _data(reader: Reader, metrics: dict[str, Any], aside: dict[str, str], figures: Sequence[Figure]) -> PageSection:
    known = set(metrics["data"]) & set(published.MEMBERS)
    rows = [
        [model, row["role"], row["members"], published.MEMBERS.get(model), row["first_year"], row["last_year"],
         metrics["div_magnitude"].get(model), metrics["div_magnitude_corrected"].get(model),
         published.DIV_MAGNITUDE.get(model)]
        for model, row in metrics["data"].items()
    ]  # fmt: skip
    columns = ["model", "used for", "members", "members published", "first year", "last year", "DIV (K)",
               "DIV corrected (K)", "DIV published (K)"]  # fmt: skip
    caption = (
        "Models used, with the standard deviation of decadal internal variability (DIV); corrected for what removing "
        "a mean of few members takes away."
    )
    used = Table(columns, rows, caption, published.WEIGHTS if known else "")
    coverage = reader.coverage()
    wrong: list[list[Cell]] = [
        [str(v) for v in (r.model, r.member, r.experiment, r.problems)]
        for r in coverage.itertuples()
        if str(r.problems)
    ]
    wrong += [[p.model, p.member, "", f"{p.path}: {p.reason}" if p.path else p.reason] for p in reader.wrong()]
    wrong += [[model, "all", reader.recipe.variable.exp, why] for model, why in aside.items()]
    full = coverage[[c for c in ("model", "member", "experiment", "first", "last", "complete_years", "missing",
                                 "calendar", "grid", "usable") if c in coverage]]  # fmt: skip
    tables = [used]
    if wrong:
        tables.append(Table(["model", "member", "experiment", "what"], wrong, "Set aside, assumed or noted"))
    tables.append(
        Table(list(full.columns), [list(map(str, row)) for row in full.values], "Every run found", folded=True)
    )
    words = [] if wrong else ["Every file that was found could be used."]
    return PageSection("data", "Data found and set aside", words, tables, figures)


def _choices(reader: Reader, metrics: dict[str, Any], figures: Sequence[Figure]) -> PageSection:
    chosen, selection = metrics["selection"], reader.selection()
    rows: list[list[Cell]] = [["rule", chosen["rule"]], ["α", chosen["alpha"]], ["rank ρ", chosen["rank"]],
                             ["seed", chosen["seed"]]]  # fmt: skip
    words, tables = [], []
    if selection is None:
        words.append("α and ρ were fixed in the recipe; nothing was selected.")
    else:
        words += _selection_words(reader, chosen, selection)
        rows += [["splits", chosen["splits"]], ["numerical rank of the targets", chosen["target_rank"]]]
        tables.append(_split_table(selection))
    return PageSection("choices", "Choices", words, [Table(["", ""], rows, "What was chosen"), *tables], figures)


def _selection_words(reader: Reader, chosen: dict[str, Any], selection: Selection) -> list[str]:
    settings = reader.recipe.selection
    assert settings is not None
    rules = {
        "published": "the highest mean validation R² at γ = 1, as published; the same α and ρ for every γ",
        "per_gamma": "the highest mean validation R², for each γ by itself",
        "weighted": f"the largest weighted sum of R² and −|r|, each divided by its spread (weight {settings.weight:g})",
        "pareto": "the point of the Pareto front of R² and |r| nearest to the ideal",
    }
    words = [
        f"{len(settings.alphas)} values of α and {len(settings.ranks)} of ρ were compared on {chosen['splits']} splits "
        f"that leave half of the training models out. Rule: {rules[settings.rule]}. Test models had no part in it."
    ]
    inert = chosen["inert_ranks"]
    if inert:
        words.append(
            f"{len(inert)} of {len(settings.ranks)} ranks (from {min(inert)} up) are inert: all members of a model "
            f"share the forced response of a year, so the targets have a numerical rank of at most "
            f"{chosen['target_rank']}, and above it the rank bound changes nothing: the fit is plain anchor-ridge. "
            f"The chosen rank is {'one of them' if chosen['rank'] in inert else 'not one of them'}."
        )
    grids: dict[str, tuple[list[float], float]] = {
        "α": (settings.alphas, chosen["alpha"]),
        "ρ": ([float(r) for r in settings.ranks], chosen["rank"]),
    }
    for name, (values, value) in grids.items():
        if len(values) > 1 and value in (min(values), max(values)) and not (name == "ρ" and value in inert):
            words.append(f"The chosen {name} lies at the edge of its grid: a wider grid may do better.")
    return words


def _split_table(selection: Selection) -> Table:
    scores = selection.scores
    models = scores["model"].values
    rows: list[list[Cell]] = []
    for split in scores["split"].values:
        train = scores["training"].sel(split=split).values.astype(bool)
        rank = int(scores["target_rank"].sel(split=split))
        rows.append([int(split), ", ".join(models[train]), ", ".join(models[~train]), rank])
    return Table(["split", "trained on", "validated on", "rank of targets"], rows, "Splits", folded=True)


def _summary(reader: Reader, metrics: dict[str, Any]) -> list[str]:
    lines = []
    for gamma in reader.recipe.gammas:
        test = metrics["scores"][gamma_key(gamma)].get("test")
        if test:
            scores = f"R² {number(test['r2'])}, residual–DIV correlation −r {number(-test['r'])}"
            lines.append(f"γ = {gamma_key(gamma)}: on test models {scores}.")
    for key, m in metrics.get("detection", {}).items():
        verdict = "detected" if m["detected"] else "not detected"
        lines.append(f"γ = {key}: observed change {verdict} ({equation(m['p_value'])}).")
    return lines


def _files(plan: ClimatePlan) -> list[Path]:
    observations = plan.recipe.detection.observations.path if plan.recipe.detection else None
    return [*plan.found.files(), *([observations] if observations else [])]


def _warnings(reader: Reader, aside: dict[str, str]) -> list[str]:
    return [f"{model} was set aside: {why}" for model, why in aside.items()]

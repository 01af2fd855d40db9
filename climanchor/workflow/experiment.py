"""Recipes of the other experiments: check their parameters, run them, put their tables and figures on a page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd
from pydantic import ConfigDict, ValidationError, create_model

from climanchor import plotting
from climanchor.experiments import EXPERIMENTS, Experiment
from climanchor.workflow import netcdf
from climanchor.workflow.identity import file_identity
from climanchor.workflow.page import Figure, PageSection, Table
from climanchor.workflow.recipe import RecipeError
from climanchor.workflow.schema import ExperimentRecipe
from climanchor.workflow.store import Product, Step
from climanchor.workflow.wording import suggest

CODE = ("experiments", "estimators", "kernels", "simulate", "datasets", "workflow/experiment.py")


def find_experiment(recipe: ExperimentRecipe) -> Experiment:
    """The experiment of a recipe, its parameters checked. Raises :class:`RecipeError`."""
    if recipe.experiment not in EXPERIMENTS:
        known = suggest(recipe.experiment, ["climate", *EXPERIMENTS])
        raise RecipeError(f"experiment: there is no experiment {recipe.experiment}{known}")
    experiment = EXPERIMENTS[recipe.experiment]
    check_parameters(recipe, experiment)
    return experiment


def check_parameters(recipe: ExperimentRecipe, experiment: Experiment) -> dict[str, Any]:
    """Hold the parameters of a recipe against the signature of the experiment's function."""
    signature, hints = inspect.signature(experiment.run), get_type_hints(experiment.run)
    for name in recipe.parameters:
        if name not in signature.parameters:
            known = suggest(name, list(signature.parameters))
            raise RecipeError(f"parameters.{name} is not a parameter of {recipe.experiment}{known}")
    fields: dict[str, Any] = {
        name: (hints.get(name, Any), ... if p.default is inspect.Parameter.empty else p.default)
        for name, p in signature.parameters.items()
    }
    config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
    model = create_model("Parameters", __config__=config, **fields)
    try:
        filled = model.model_validate(recipe.parameters)
    except ValidationError as errors:
        first = errors.errors()[0]
        name = ".".join(str(part) for part in first["loc"][:1])
        wanted = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        raise RecipeError(f"parameters.{name} is {first['input']!r}, should be {wanted}") from None
    return {name: getattr(filled, name) for name in recipe.parameters}


def experiment_steps(recipe: ExperimentRecipe, experiment: Experiment) -> tuple[Step, Step]:
    """Run the experiment; then draw its figures from the saved result."""
    parameters = check_parameters(recipe, experiment)
    files = {name: file_identity(Path(v)) for name, v in recipe.parameters.items() if _is_file(v)}

    def run(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        netcdf.write(experiment.run(**parameters), folder / "results.nc")

    def draw(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        possible = {d.name: d for d in experiment.drawings(netcdf.read(inputs["results"].file("results.nc")))}
        drawings = [d for name, d in possible.items() if recipe.figures.only is None or name in recipe.figures.only]
        for drawing in drawings:
            function = getattr(plotting, drawing.function)
            figure = function(drawing.dataset, **drawing.options)
            plotting.save(figure, folder / drawing.name, formats=tuple(recipe.figures.formats))
        words = {d.name: d.caption for d in drawings}
        (folder / "captions.json").write_text(json.dumps(words), encoding="utf-8")

    result = Step(
        "results", run, {"experiment": experiment.name, "parameters": recipe.parameters, "files": files},
        code=CODE, label=f"experiment {experiment.name}", publish={"results.nc": "data/results.nc"},
    )  # fmt: skip
    figures = Step(
        "figures", draw, recipe.figures.model_dump(), {"results": result}, ("experiments", "plotting", *CODE[-1:]),
        "figures", {f"*.{suffix}": "figures/" for suffix in recipe.figures.formats},
    )  # fmt: skip
    return result, figures


def page_figures(product: Product) -> list[Figure]:
    """The drawn figures for the page, with their captions."""
    captions = json.loads(product.file("captions.json").read_text(encoding="utf-8"))
    return [
        Figure(
            name, name.replace("_", " ").replace("-", " ").capitalize(), caption, product.file(f"{name}.png"),
            [path for path in product.files if path.stem == name and path.suffix != ".png"],
        )
        for name, caption in captions.items()
    ]  # fmt: skip


def table_section(frame: pd.DataFrame, notes: str) -> PageSection:
    """The experiment's table and what its reader must know."""
    named = [name for name in frame.index.names if name is not None]
    flat = frame.reset_index() if named else frame
    columns = [str(column) for column in flat.columns]
    rows = [[_cell(v) for v in row] for row in flat.itertuples(index=False)]
    paragraphs = [part.strip() for part in notes.split("\n\n") if part.strip()]
    return PageSection("results", "Results", paragraphs, [Table(columns, rows)])


def _cell(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 4096 and Path(value).is_file()

"""A figure as a step: drawn by a function of the plotting module, kept and shown like any other product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from climanchor.workflow.page import Figure
from climanchor.workflow.recipe import RecipeError
from climanchor.workflow.sections import Figures
from climanchor.workflow.session import Session
from climanchor.workflow.store import Product, Step
from climanchor.workflow.wording import suggest


@dataclass(frozen=True)
class Drawing:
    """A figure: its section of the report, its words, the products it shows and the function that draws it."""

    name: str
    section: str
    title: str
    caption: str
    inputs: Mapping[str, Step]
    draw: Callable[[Mapping[str, Product]], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    code: tuple[str, ...] = ("plotting", "workflow/pictures.py")


def drawing_step(drawing: Drawing, settings: Figures) -> Step:
    """The step that draws one figure in every format asked for."""

    def build(folder: Path, inputs: Mapping[str, Product], scratch: Path) -> None:
        save_figure(drawing.draw(inputs), folder / drawing.name, settings)

    return Step(
        f"figure:{drawing.name}",
        build,
        {**drawing.parameters, "formats": settings.formats},
        drawing.inputs,
        drawing.code,
        f"figure {drawing.name}",
        {f"{drawing.name}.{suffix}": f"figures/{drawing.name}.{suffix}" for suffix in settings.formats},
    )


def wanted(drawings: Iterable[Drawing], settings: Figures) -> list[Drawing]:
    """The figures that the recipe asks for. Raises :class:`RecipeError` for one that does not exist."""
    known = {drawing.name: drawing for drawing in drawings}
    for name in settings.only or ():
        if name not in known:
            raise RecipeError(f"figures.only: there is no figure {name}{suggest(name, list(known))}")
    return list(known.values()) if settings.only is None else [known[name] for name in settings.only]


def save_figure(figure: Any, stem: Path, settings: Figures) -> None:
    """Write a figure in every format; the same figure gives the same bytes."""
    from climanchor import plotting  # slow to import, and only needed where something is drawn

    plotting.save(figure, stem, formats=tuple(settings.formats))


def page_figure(drawing: Drawing, step: Step, session: Session) -> Figure:
    """The drawn figure for the page."""
    product = session.products[step.key]
    files = {path.suffix: path for path in product.files}
    others = [path for suffix, path in sorted(files.items()) if suffix != ".png"]
    return Figure(drawing.name, drawing.title, drawing.caption, files[".png"], others)

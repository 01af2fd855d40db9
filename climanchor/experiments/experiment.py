"""What an experiment is to those who run, print and draw it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import xarray as xr


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn: the function of ``climanchor.plotting`` by name, what it gets, and the caption.

    ``function`` is called as ``function(dataset, **options)``; ``name`` is the figure's file name.
    """

    name: str
    function: str
    dataset: xr.Dataset
    caption: str
    options: Mapping[str, Any] = field(default_factory=dict)


def no_drawings(dataset: xr.Dataset) -> list[Drawing]:
    """For experiments whose table says it all."""
    return []


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    name : str
        What a recipe calls it: ``experiment: <name>``.
    run : function
        Keyword parameters with defaults (a recipe's ``parameters``) to a dataset of labelled results.
    metrics : function
        The dataset to the nested dictionary written as ``metrics.json``: numbers, strings, lists.
    table : function
        The dataset to a table that puts our numbers beside the published or known ones.
    notes : str
        What the reader of the report must know, in plain words.
    drawings : function
        The dataset to the figures to draw.
    """

    name: str
    run: Callable[..., xr.Dataset]
    metrics: Callable[[xr.Dataset], dict[str, Any]]
    table: Callable[[xr.Dataset], pd.DataFrame]
    notes: str
    drawings: Callable[[xr.Dataset], list[Drawing]] = no_drawings

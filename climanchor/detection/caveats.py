"""What a reader must know before believing a result: how little it may rest on."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

from climanchor.detection.segments import Segments, Unforced

#: Below this effective number of segments a p-value depends strongly on the spread that few trends happen to have.
FEW_SEGMENTS = 20
#: Below this number of members their mean still holds a good part of their own variability.
FEW_MEMBERS = 5


def caveats(
    result: xr.Dataset, *, trained_on: Mapping[str, int | None], observations: xr.DataArray, left_out: Sequence[str]
) -> list[str]:
    """Sentences on the weak points of a result, for its attribute ``caveats`` and for reports.

    ``trained_on`` are the training models with the number of their members, where it is known.
    """
    return [*_of_training(trained_on), *_of_test(result, left_out), *_of_observations(result, observations)]


def _of_training(trained_on: Mapping[str, int | None]) -> Iterator[str]:
    if len(trained_on) == 1:
        yield f"the fingerprint was trained on one model ({next(iter(trained_on))})"
    few = [f"{name} ({size})" for name, size in trained_on.items() if size is not None and size < FEW_MEMBERS]
    if few:
        yield f"forced responses are means of few members: {', '.join(few)}"


def _of_test(result: xr.Dataset, left_out: Sequence[str]) -> Iterator[str]:
    models = result.attrs["control_models"].split(", ")
    if len(models) == 1:
        yield f"the null comes from one model ({models[0]})"
    effective = float(np.nanmedian(result["effective_segments"]))
    if effective < FEW_SEGMENTS:
        yield f"the null rests on about {effective:.1f} independent segments"
    if left_out:
        yield f"runs too short for the window are not used: {', '.join(left_out)}"


def _of_observations(result: xr.Dataset, observations: xr.DataArray) -> Iterator[str]:
    if result.attrs["observed_area"] < 0.995:
        yield f"{result.attrs['observed_area']:.0%} of the globe is observed throughout the window"
    comment = observations.attrs.get("comment")
    if comment:
        yield f"observations: {comment}"


def unused_runs(runs: Sequence[Unforced], segments: Segments) -> list[str]:
    """Model and member of the runs that gave no segment."""
    used = set(segments.run.tolist())
    return [f"{run.model} {run.member}" for number, run in enumerate(runs) if number not in used]

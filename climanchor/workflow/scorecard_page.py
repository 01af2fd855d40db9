"""The scorecard for its readers: how well single members give away their model's forced response."""

from __future__ import annotations

import numpy as np
import xarray as xr

from climanchor.workflow.page import Cell, PageSection, Table, number
from climanchor.workflow.reading import SKILLS, Reader

TITLE = "Skill of the forced response"


def skill_section(reader: Reader) -> PageSection | None:
    """Fingerprints and baselines side by side; why there is no table, where there is none."""
    why = reader.missing("scorecard")
    if why:
        return PageSection("skill", TITLE, [f"There is no scorecard: {why}."])
    card = reader.scorecard()
    if card is None:
        return None
    rows: list[list[Cell]] = [
        [_shown(name), *(float(card[skill].sel(estimate=name)) for skill in SKILLS)] for name in _names(card)
    ]
    attrs = card.attrs
    table = Table(
        ["estimate", *(skill.replace("_", " ") for skill in SKILLS)], rows,
        f"Scorecard on {attrs['realizations']} members of {attrs['models']}",
        f"Trends of {attrs['trend_years']}, the rest over {attrs['years']}. A skill of one is perfect, zero is that of "
        "no change at all. RAW is the member itself, RegGMST its regression on its own global mean; the "
        "training-ensemble mean is the forced response of the training models and looks at no member.",
    )  # fmt: skip
    return PageSection("skill", TITLE, _words(reader, card), [table])


def _words(reader: Reader, card: xr.Dataset) -> list[str]:
    best = {skill: str(card["estimate"].values[np.argmax(card[skill].values)]) for skill in SKILLS}
    highest = [
        f"{skill.replace('_', ' ')}: {_shown(name)} ({number(float(card[skill].max()))})"
        for skill, name in best.items()
    ]
    words = [
        "Each estimate is made from one member of a test model alone and held against the forced response of that "
        "model, in the manner of ForceSMIP. Simple baselines stand beside the fingerprints, and the numbers are "
        "reported as they come out, also where a baseline wins.",
        f"Highest {'; '.join(highest)}.",
    ]
    if not reader.recipe.prepare.leave_one_out:
        words.append(
            "The forced response is the mean of all members, the scored one among them: with few members this "
            "flatters RAW and its kin. prepare.leave_one_out avoids it."
        )
    if card.attrs["left_out"]:
        words.append(f"Not scored, for missing values in these years: {card.attrs['left_out']}.")
    return words


def _names(card: xr.Dataset) -> list[str]:
    """Fingerprints first."""
    return sorted(map(str, card["estimate"].values), key=lambda name: not name.startswith("gamma-"))


def _shown(name: str) -> str:
    return f"γ = {name.removeprefix('gamma-')}" if name.startswith("gamma-") else name

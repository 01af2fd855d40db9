"""Errors of a recipe in words: where, which key, what it holds, what is allowed, the nearest right word."""

from __future__ import annotations

import difflib
import re
from typing import Any, get_args

import yaml
from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from climanchor.workflow.sections import Spaced


def suggest(word: str, known: list[str]) -> str:
    """``: did you mean …?`` for the nearest of ``known``, else a list of what is known.

    >>> suggest("gama", ["gammas", "seed"])
    ': did you mean gammas?'
    """
    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    if near:
        return f": did you mean {near[0]}?"
    return f"; known are {', '.join(known)}" if known else ""


def error_line(error: ErrorDetails, schema: type[BaseModel], tree: yaml.Node | None, source: str) -> str:
    """One line for one error that pydantic found in a recipe that follows ``schema``."""
    loc = [part for part in error["loc"] if not _is_branch(part)]
    where = f"{source}{_line(tree, loc)}"
    key = _dotted(loc)
    value = error.get("input")
    if error["type"] == "extra_forbidden":
        parent = f"a key of {_dotted(loc[:-1])}" if loc[:-1] else f"a key of {_name(schema)} recipe"
        return f"{where}: {key} is not {parent}{suggest(str(loc[-1]), _keys(schema, loc[:-1]))}"
    if error["type"] == "missing":
        return f"{where}: {key} is missing"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if error["type"] == "value_error":
        return f"{where}: {key}{': ' if key else ''}{message}"
    if error["type"] == "literal_error":
        allowed = [str(c).strip("' ") for c in re.split(r",| or ", str(error["ctx"]["expected"]))]
        return f"{where}: {key} is {value!r}, should be {message}{_near(value, allowed)}"
    return f"{where}: {key} is {_short(value)}, should be {message}"


def _near(value: Any, allowed: list[str]) -> str:
    near = difflib.get_close_matches(str(value).lower(), allowed, n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""


def _name(schema: type[BaseModel]) -> str:
    return "a climate" if "datasets" in schema.model_fields else "an experiment"


def _is_branch(part: int | str) -> bool:
    """Whether pydantic names the branch of a union here (``list[str]``, ``str``), not a key of the recipe."""
    return isinstance(part, str) and bool(re.search(r"[\[\]()]|^(str|int|float|nullable)$|^function-", part))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _dotted(loc: list[int | str]) -> str:
    return re.sub(r"\.\[", "[", ".".join(f"[{p}]" if isinstance(p, int) else str(p) for p in loc))


def _keys(schema: type[BaseModel], loc: list[int | str]) -> list[str]:
    """The keys allowed at ``loc``, in every spelling."""
    model: type[BaseModel] | None = schema
    for part in loc:
        if isinstance(part, str) and model is not None:
            field = next((f for name, f in model.model_fields.items() if part in _spellings(name, f)), None)
            model = Spaced if part in _SPACED else _section(field.annotation) if field else None
    return [] if model is None else [s for name, f in model.model_fields.items() for s in _spellings(name, f)]


_SPACED = ("alphas", "ranks", "gammas")


def _spellings(name: str, field: FieldInfo) -> list[str]:
    alias = field.validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [name]


def _section(annotation: Any) -> type[BaseModel] | None:
    """The section inside ``X``, ``X | None`` or ``list[X]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section, get_args(annotation))), None)


def _line(tree: yaml.Node | None, loc: list[int | str]) -> str:
    """``, line N`` of the deepest part of ``loc`` that the file holds."""
    node, line = tree, None
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            pair = (node.value[part], node.value[part])
        else:
            pair = None
        if pair is None:
            break
        line, node = pair[0].start_mark.line + 1, pair[1]
    return "" if line is None else f", line {line}"


def mark(error: yaml.YAMLError) -> str:
    """``, line N`` of a syntax error."""
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f", line {mark.line + 1}"


def problem(error: yaml.YAMLError) -> str:
    """What the YAML parser found."""
    return str(getattr(error, "problem", None) or error)


def kind(content: Any) -> str:
    """What was found in place of a mapping."""
    return "an empty file" if content is None else f"a {type(content).__name__}"

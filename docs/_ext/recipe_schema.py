"""The schema of recipes and settings as tables of keys: read from the pydantic classes, nothing written by hand."""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}", "pattern": "as `{}`"}
WORDS = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`", Path: "path", Any: "any value"}


@dataclass(frozen=True)
class KeyRow:
    """One key: how it is spelt, what it may hold, and what it is when left out."""

    key: str
    value: str
    default: str


@dataclass(frozen=True)
class KeyTable:
    """The keys of one section."""

    name: str
    title: str
    about: str
    anchor: str
    rows: tuple[KeyRow, ...]


def key_tables(schemas: tuple[type[BaseModel], ...]) -> list[KeyTable]:
    """A table for each schema and for each section within, in the order in which they appear."""
    places: dict[type[BaseModel], str] = {}
    for schema in schemas:
        _collect(schema, "", places)
    return [_table(section, place) for section, place in places.items()]


def _collect(section: type[BaseModel], place: str, places: dict[type[BaseModel], str]) -> None:
    if section in places:
        return
    places[section] = place
    for name, field in section.model_fields.items():
        for inner in _sections(field.annotation):
            _collect(inner, f"{place}.{name}".lstrip("."), places)


def _table(section: type[BaseModel], place: str) -> KeyTable:
    title = f"`{place}:`" if place else {"ClimateRecipe": "A climate recipe", "Config": "config.yml"}.get(
        section.__name__, "A recipe of another experiment"
    )  # fmt: skip
    about = " ".join((section.__doc__ or "").replace("``", "`").split())
    rows = tuple(
        KeyRow(spelling(name, field), _value(field.annotation, field.metadata), _default(field))
        for name, field in section.model_fields.items()
    )
    return KeyTable(section.__name__, title, about, anchor(section), rows)


def anchor(section: type[BaseModel]) -> str:
    """The target of links to a section's table."""
    return f"keys-{section.__name__.lower()}"


def spelling(name: str, field: FieldInfo) -> str:
    """The first spelling of a key."""
    alias = field.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else name


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _sections(part)


def _value(annotation: Any, metadata: list[Any]) -> str:
    words, bounds = _type(annotation), _bounds(metadata)
    return _joined(words, bounds).replace("|", "\\|")


def _type(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _joined(_type(parts[0]), _bounds(list(parts[1:])))
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(part) for part in parts if part is not type(None)))
    if origin is list:
        return f"list of: {_type(parts[0])}"
    if origin is tuple:
        return "`[first, last]`, years"
    if origin is dict:
        return f"mapping of {_type(parts[0])} to {_type(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[keys](#{anchor(annotation)})"
    return WORDS[annotation]


def _joined(words: str, bounds: str) -> str:
    return f"{words}, {bounds}" if bounds.startswith("not") else f"{words} {bounds}".strip()


def _bounds(metadata: list[Any]) -> str:
    told = []
    for item in metadata:
        for part in getattr(item, "metadata", [item]):  # Field(...) inside Annotated holds its own list
            told += [
                text.format(getattr(part, name))
                for name, text in BOUNDS.items()
                if getattr(part, name, None) is not None
            ]
            if getattr(part, "min_length", None):
                told.append("not empty")
    return ", ".join(told)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if isinstance(value, BaseModel):
        return "its defaults"
    if isinstance(value, list) and len(value) > 5:
        return f"`{value[0]:g}` … `{value[-1]:g}` ({len(value)} values)"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, (list, tuple)):
        return f"`[{', '.join(_plain(v) for v in value)}]`"
    return f"`{_plain(value)}`" if value not in ("", {}) else "empty"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

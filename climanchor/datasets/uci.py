"""The UCI Air Quality table, from the file the user has or from the repository.

The original is separated by semicolons, has decimal commas, two empty columns and 114 empty rows, and writes
-200 for missing. Copies in circulation have other separators, decimal points, date orders and index columns:
whatever holds the same table gives the same table, and anything else is an error that says what is wrong.
"""

import csv
import hashlib
import io
import re
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

URL = "https://archive.ics.uci.edu/static/public/360/air+quality.zip"
FILE = "AirQualityUCI.csv"
SHA256 = "13277ae5d8581e80b7be09d47c7d3d06fe9b8e957078f2cf6e859f955e62f996"
FIRST_HOUR, N_HOURS = pd.Timestamp("2004-03-10 18:00"), 9357
MISSING = -200.0

COLUMNS = (
    "CO(GT)", "PT08.S1(CO)", "NMHC(GT)", "C6H6(GT)", "PT08.S2(NMHC)", "NOx(GT)", "PT08.S3(NOx)", "NO2(GT)",
    "PT08.S4(NO2)", "PT08.S5(O3)", "T", "RH", "AH",
)  # fmt: skip
DATE_FORMATS = ("%d/%m/%Y", "%Y-%m-%d", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%Y")


class AirQualityFileError(ValueError):
    """A file that does not hold the UCI Air Quality table."""


def air_quality(path: str | Path | None = None, *, missing: Literal["nan", "value"] = "nan") -> pd.DataFrame:
    """Load the UCI Air Quality table: 9,357 hours, ten pollution measurements and three of the weather.

    Parameters
    ----------
    path : path, optional
        The csv file, or the repository's zip that holds it. Without it the zip is downloaded once with
        pooch (``pip install climanchor[download]``) and kept in the user's cache; the table inside is
        checked against its SHA-256.
    missing : {"nan", "value"}
        What becomes of -200, the file's mark for missing: NaN, or the number itself, as in the published
        air-quality experiment.

    Returns
    -------
    pandas.DataFrame
        float64 columns as named in the file, indexed by ``time`` (hourly, local time).

    Raises
    ------
    AirQualityFileError
        When the file holds something else; the message names the file, the line and the remedy.
    OSError
        When there is no such file, or the download fails.
    """
    if missing not in ("nan", "value"):
        raise ValueError(f"missing is {missing!r}; it must be 'nan' or 'value'")
    source = Path(path) if path is not None else _download()
    header, rows = _read_rows(_text(source), source)
    positions = _column_positions(header, source)
    time = _times([row[positions["Date"]] for row in rows], [row[positions["Time"]] for row in rows], source)
    values = {name: _numbers([row[positions[name]] for row in rows], name, source) for name in COLUMNS}
    table = pd.DataFrame(values, index=time)
    return table if missing == "value" else table.where(table != MISSING)


def _text(source: Path) -> str:
    content = source.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(".csv")]
            if len(names) != 1:
                raise AirQualityFileError(
                    f"{source}: expected one csv file in the archive, found {names or 'none'}; "
                    f"extract {FILE} (a spreadsheet can be saved as csv) and give its path"
                )
            content = archive.read(names[0])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read_rows(text: str, source: Path) -> tuple[list[str], list[list[str]]]:
    """Header and the rows that hold anything, split at the separator the header uses."""
    lines = text.splitlines()
    if not lines:
        raise AirQualityFileError(f"{source}: the file is empty")
    separator = max(";,\t", key=lines[0].count)
    header, *rows = csv.reader(lines, delimiter=separator)
    header = [name.strip() for name in header]
    filled = []
    for number, row in enumerate(rows, start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) < len(header) or any(cell.strip() for cell in row[len(header) :]):
            raise AirQualityFileError(
                f"{source}, line {number}: {len(row)} fields under {len(header)} column names; "
                "decimal commas in a comma-separated file must be quoted: use the original file"
            )
        filled.append(row)
    return header, filled


def _column_positions(header: list[str], source: Path) -> dict[str, int]:
    """Where each column is; spelling may differ in case, spaces and punctuation, and others are ignored."""
    places = {_plain(name): i for i, name in enumerate(header) if name}
    wanted = {name: places.get(_plain(name)) for name in ("Date", "Time", *COLUMNS)}
    absent = [name for name, place in wanted.items() if place is None]
    if absent:
        raise AirQualityFileError(f"{source}: no column {', '.join(absent)}; found {', '.join(filter(None, header))}")
    return {name: place for name, place in wanted.items() if place is not None}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _times(dates: list[str], times: list[str], source: Path) -> pd.DatetimeIndex:
    """The hours of the rows, in the one date order that makes them the 9,357 hours of the data set."""
    expected = pd.date_range(FIRST_HOUR, periods=N_HOURS, freq="h", name="time")
    if len(dates) != N_HOURS:
        raise AirQualityFileError(
            f"{source}: {len(dates)} rows hold data, the table has {N_HOURS}: rows were lost or added"
        )
    hours = pd.to_numeric(pd.Series(times).str.extract(r"^\s*(\d{1,2})", expand=False), errors="coerce")
    days = pd.Series(dates).str.strip().str.split(n=1).str[0]
    for date_format in DATE_FORMATS:
        day = pd.to_datetime(days, format=date_format, errors="coerce")
        found = pd.DatetimeIndex(day + pd.to_timedelta(hours, unit="h"))
        if bool((found == expected).all()):
            return expected
    raise AirQualityFileError(
        f"{source}: the dates and times (first {dates[0]!r} {times[0]!r}) are not the hours from {FIRST_HOUR} on in "
        "any of the usual date orders: the rows were reordered, or a spreadsheet changed the dates"
    )


def _numbers(cells: list[str], name: str, source: Path) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = pd.to_numeric(pd.Series(cells).str.strip().str.replace(",", "."), errors="coerce").to_numpy(float)
    bad = np.flatnonzero(np.isnan(values))
    if bad.size:
        raise AirQualityFileError(
            f"{source}: column {name} has {bad.size} cells that are not numbers (first {cells[bad[0]]!r} in data row "
            f"{bad[0] + 1}); missing values are written {MISSING:g} in this table"
        )
    return values


def _download() -> Path:
    try:
        pooch = import_module("pooch")
    except ImportError as error:
        raise ImportError(
            f"downloading needs pooch (pip install climanchor[download]); or get {URL} and give its path"
        ) from error
    try:
        archive = Path(pooch.retrieve(URL, known_hash=None, fname="air_quality.zip", path=pooch.os_cache("climanchor")))
    except OSError as error:
        raise OSError(
            f"could not download {URL} ({error}); fetch it elsewhere and give the path of the file"
        ) from error
    with zipfile.ZipFile(archive) as content:
        digest = hashlib.sha256(content.read(FILE)).hexdigest()
    if digest != SHA256:
        raise AirQualityFileError(
            f"{archive}: {FILE} inside has SHA-256 {digest}, expected {SHA256}; delete it and retry"
        )
    return archive

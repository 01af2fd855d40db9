"""The air-quality table: one table from every spelling of the file, and clear errors from the rest."""

import hashlib
import sys
import types
import zipfile

import numpy as np
import pandas as pd
import pytest

from climanchor.datasets import air_quality, uci
from climanchor.datasets.uci import COLUMNS, FIRST_HOUR, N_HOURS, AirQualityFileError


@pytest.fixture(scope="module")
def table():
    """A made-up table with the hours and columns of the real one; every ninth value is missing."""
    rng = np.random.default_rng(0)
    values = rng.integers(1, 5000, (N_HOURS, len(COLUMNS))) / 10
    values.ravel()[::9] = -200
    return pd.DataFrame(values, columns=list(COLUMNS), index=pd.date_range(FIRST_HOUR, periods=N_HOURS, freq="h"))


def lines(table, *, separator=";", decimal=",", date="%d/%m/%Y", time="%H.%M.%S", quote="", columns=None):
    yield separator.join(columns or ["Date", "Time", *COLUMNS])
    plain = ("|".join([f"{value:.1f}" for value in row]) for row in table.to_numpy().tolist())
    between = f"{quote}{separator}{quote}"
    cells = (quote + row.replace(".", decimal).replace("|", between) + quote for row in plain)
    stamps = zip(table.index.strftime(date), table.index.strftime(time), cells, strict=True)
    yield from (separator.join(parts) for parts in stamps)


def original(table):
    """As the repository has it: two empty columns and 114 empty rows."""
    head, *rows = lines(table)
    return "\r\n".join([f"{head};;", *(f"{row};;" for row in rows), *[";" * 16] * 114, ""])


def indexed(table):
    head, *rows = lines(table, separator=",", decimal=".")
    return "\n".join([f",{head},Unnamed: 15", *(f"{i},{row}," for i, row in enumerate(rows))])


VARIANTS = {
    "original": original,
    "commas and points": lambda t: "\n".join(lines(t, separator=",", decimal=".")),
    "commas and quoted decimal commas": lambda t: "\n".join(lines(t, separator=",", quote='"')),
    "tabs": lambda t: "\n".join(lines(t, separator="\t")),
    "byte-order mark": lambda t: "\ufeff" + "\n".join(lines(t)),
    "ISO dates and colons": lambda t: "\n".join(lines(t, date="%Y-%m-%d", time="%H:%M:%S")),
    "American dates": lambda t: "\n".join(lines(t, date="%m/%d/%Y", time="%H:%M")),
    "dates with a midnight": lambda t: "\n".join(lines(t, date="%Y-%m-%d 00:00:00")),
    "an index column and an unnamed one": indexed,
    "other spelling": lambda t: "\n".join(lines(t, columns=["date", " time", *(c.lower() for c in COLUMNS)])),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_spelling_gives_the_same_table(table, tmp_path, variant):
    path = tmp_path / "table.csv"
    path.write_text(VARIANTS[variant](table), encoding="utf-8", newline="")
    found = air_quality(path, missing="value")
    pd.testing.assert_frame_equal(found, table, check_freq=False, check_names=False)
    assert found.index.name == "time"


def test_missing_values_become_nan_or_stay(table, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines(table)))
    assert int(air_quality(path).isna().sum().sum()) == int((table == -200).sum().sum())
    assert not air_quality(path, missing="value").isna().any(axis=None)
    with pytest.raises(ValueError, match="'nan' or 'value'"):
        air_quality(path, missing="drop")


def test_the_zip_of_the_repository_is_read_as_it_is(table, tmp_path):
    path = tmp_path / "air.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("AirQualityUCI.csv", "\n".join(lines(table)))
        archive.writestr("AirQualityUCI.xlsx", b"")
    assert air_quality(path).shape == (N_HOURS, 13)


def without_rows(table):
    return "\n".join(lines(table.dropna().iloc[:-5]))


def with_text(table):
    return "\n".join(lines(table)).replace("-200,0", "n/a", 1)


BROKEN = {
    "empty": (lambda t: "", "the file is empty"),
    "unquoted decimal commas": (
        lambda t: "\n".join(lines(t, separator=",")),
        r"line 2: 28 fields under 15 column names",
    ),
    "columns": (lambda t: "Date;Time;CO(GT)\n1;2;3", r"no column PT08.S1\(CO\), NMHC\(GT\)"),
    "lost rows": (without_rows, "9352 rows hold data, the table has 9357"),
    "shuffled": (lambda t: "\n".join(lines(t.iloc[::-1])), "rows were reordered"),
    "text": (with_text, r"column CO\(GT\) has 1 cells that are not numbers \(first 'n/a' in data row 1\)"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_anything_else_is_an_error_that_names_the_file(table, tmp_path, broken):
    write, match = BROKEN[broken]
    path = tmp_path / "broken.csv"
    path.write_text(write(table))
    with pytest.raises(AirQualityFileError, match=rf"broken\.csv.*{match}"):
        air_quality(path)


def test_a_spreadsheet_is_told_to_be_saved_as_csv(tmp_path):
    path = tmp_path / "air.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(AirQualityFileError, match="can be saved as csv"):
        air_quality(path)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        air_quality(tmp_path / "nowhere.csv")


@pytest.fixture
def served(table, tmp_path, monkeypatch):
    """A stand-in for pooch that serves a zip of the made-up table."""
    path = tmp_path / "served.zip"
    content = "\n".join(lines(table)).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("AirQualityUCI.csv", content)
    pooch = types.SimpleNamespace(os_cache=lambda name: tmp_path, retrieve=lambda url, **kwargs: str(path))
    monkeypatch.setitem(sys.modules, "pooch", pooch)
    return hashlib.sha256(content).hexdigest()


def test_a_download_with_the_right_checksum_is_read(served, monkeypatch):
    monkeypatch.setattr(uci, "SHA256", served)
    assert len(air_quality()) == N_HOURS


def test_a_download_with_another_checksum_is_refused(served):
    with pytest.raises(AirQualityFileError, match=r"SHA-256 .* expected 13277ae5"):
        air_quality()


def test_without_network_the_error_says_what_to_do(monkeypatch, tmp_path):
    def fail(url, **kwargs):
        raise OSError("Network is unreachable")

    monkeypatch.setitem(sys.modules, "pooch", types.SimpleNamespace(os_cache=lambda name: tmp_path, retrieve=fail))
    with pytest.raises(OSError, match=r"could not download https://archive\.ics.*give the path of the file"):
        air_quality()


def test_without_pooch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"climanchor\[download\]"):
        air_quality()

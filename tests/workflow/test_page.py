"""The page: everything escaped, embedded and readable; and the numbers file beside it."""

import json
import math
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from climanchor.workflow.metrics import flatten, gamma_key, write_metrics
from climanchor.workflow.output import publish
from climanchor.workflow.page import Figure, Page, PageSection, Table, as_text, number, render, write_page


@pytest.fixture
def picture(tmp_path):
    """A small PNG, as matplotlib writes it."""
    from climanchor.plotting import save
    from climanchor.plotting.style import new_figure

    figure = new_figure("two", 2.0)
    figure.add_subplot().plot([0, 1], [0, 1])
    return save(figure, tmp_path / "line", formats=("png",))[0]


def page(**changes):
    content = {"title": "Title", "description": "", "summary": [], "sections": []}
    return Page(**{**content, **changes})


def test_text_is_escaped_so_that_names_in_files_cannot_become_code():
    hostile = "<script>alert(1)</script>"
    sections = [PageSection("s", hostile, [hostile], [Table([hostile], [[hostile]], hostile)], preformatted=hostile)]
    html = render(page(title=hostile, sections=sections, warnings=[hostile]))
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 7


def test_figures_are_embedded_with_title_caption_and_links(picture):
    figure = Figure("line", "A line", "From zero to one.", picture, [picture.with_suffix(".pdf")])
    html = render(page(sections=[PageSection("f", "Figures", figures=[figure])]))
    assert "data:image/png;base64," in html
    assert 'alt="A line"' in html
    assert "From zero to one." in html
    assert 'href="figures/line.pdf">PDF</a>' in html
    assert figure.wide
    assert 'class="wide"' in html


def test_long_tables_can_be_folded_and_numbers_stand_to_the_right():
    table = Table(["name", "value"], [["a", 0.5], ["b", None]], "Many rows", folded=True)
    html = render(page(sections=[PageSection("t", "T", tables=[table])]))
    assert "<details><summary>Many rows (2)</summary>" in html
    assert re.search(r'<td>a</td><td class="number">0\.500</td>', html)
    assert '<td class="number">–</td>' in html


def test_a_missing_value_is_a_dash_and_never_the_word_nan():
    assert number(math.nan) == number(None) == "–"
    assert "nan" not in as_text(Table(["x"], [[math.nan]]))


def test_a_page_that_cannot_be_rendered_leaves_the_old_one(tmp_path):
    target = tmp_path / "index.html"
    target.write_text("old")
    missing = Figure("x", "X", "", tmp_path / "missing.png")
    with pytest.raises(FileNotFoundError, match="missing"):
        write_page(page(sections=[PageSection("f", "F", figures=[missing])]), target)
    assert target.read_text() == "old"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_page_without_sideways_scrolling_when_narrow(tmp_path, picture):
    """Headless chromium at 420 pixels: wide tables scroll inside their own box, the page does not."""
    wide = Table([f"column {i}" for i in range(20)], [[0.123] * 20], "A wide table")
    sections = [PageSection("s", "Section", ["word " * 50], [wide], [Figure("line", "A line", "", picture)])]
    html = render(page(sections=sections))
    probe = "<script>document.title=document.documentElement.scrollWidth+' of '+window.innerWidth</script>"
    target = tmp_path / "index.html"
    target.write_text(html.replace("</body>", probe + "</body>"))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
               "--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=420,900",
               "--dump-dom", target.as_uri()]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True, env=os.environ).stdout
    found = re.search(r"<title>(\d+) of (\d+)</title>", shown)
    assert found is not None
    assert int(found[1]) <= int(found[2])


def test_metrics_are_plain_json_even_for_numpy_and_infinite_values(tmp_path):
    nested = {"a": {"b": np.float64(0.5), "c": np.array([1, 2])}, "d": math.nan, "e": math.inf, "f": np.bool_(True)}
    written = write_metrics(tmp_path / "metrics.json", "demo", nested)
    assert written == json.loads((tmp_path / "metrics.json").read_text())
    assert written == {"format": 1, "recipe": "demo", "a.b": 0.5, "a.c": [1, 2], "d": None, "e": "inf", "f": True}


def test_gamma_is_named_alike_everywhere():
    assert [gamma_key(g) for g in (0.0, 1.0, 2.5, 1e6, math.inf)] == ["0", "1", "2.5", "1e+06", "inf"]
    assert flatten({gamma_key(5.0): {"x": 1}}) == {"5.x": 1}


def test_publishing_replaces_what_is_old_and_leaves_what_is_the_users(tmp_path):
    store, output = tmp_path / "store", tmp_path / "out"
    store.mkdir()
    (output / "data" / "prepared").mkdir(parents=True)
    (output / "data" / "prepared" / "gone.nc").write_text("old")
    (output / "notes.txt").write_text("mine")
    (store / "a").write_text("new")
    publish({"data/a.nc": store / "a"}, output)
    assert sorted(str(p.relative_to(output)) for p in output.rglob("*") if p.is_file()) == ["data/a.nc", "notes.txt"]
    (store / "b").write_text("newer")
    publish({"data/a.nc": store / "b"}, output)
    assert (output / "data" / "a.nc").read_text() == "newer"
    assert (store / "a").read_text() == "new"

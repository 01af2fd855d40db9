"""Draw formulas at build time, as vectors within the page: no script, no font, no network when they are read."""

from html import escape
from typing import Any

import ziamath
from docutils import nodes
from sphinx.application import Sphinx

INLINE_SIZE, DISPLAY_SIZE = 17, 19


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula within a line, on the line."""
    formula = node.astext()
    drawing = ziamath.Math.fromlatex(formula, size=INLINE_SIZE, inline=True, color="currentColor")
    svg = drawing.svg().replace("<svg ", f'<svg style="vertical-align: {drawing.getyofst():.2f}px" ', 1)
    self.body.append(f'<span class="formula" {_label(formula)}>{svg}</span>')
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    formula = node.astext().strip()
    drawing = ziamath.Math.fromlatex(formula, size=DISPLAY_SIZE, color="currentColor")
    self.body.append(f'<div class="formula" {_label(formula)}>{drawing.svg()}</div>\n')
    raise nodes.SkipNode


def _label(formula: str) -> str:
    """What a screen reader says: the formula as it is written."""
    return f'role="img" aria-label="{escape(formula, quote=True)}"'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("svg", (visit_math, None), (visit_math_block, None))
    app.config.html_math_renderer = "svg"
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Render formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.application import Sphinx


def _convert(formula: str, *, display: str) -> str:
    return str(latex2mathml.converter.convert(formula, display=display))


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(_convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    """Write a displayed formula, with its anchor if it has a label."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    self.body.append(_convert(node.astext(), display="block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}

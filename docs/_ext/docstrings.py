"""Docstrings as pages: links for names however they are spelt, and absolute values that are not markup.

Docstrings name things as their own module sees them (``annual_mean``, ``climanchor.archive.find_runs``), while the
reference lists what users type (``climanchor.find_runs``). A name that is not found as written is looked for by its
last part among the public places.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

PLACES = (
    "climanchor",
    *(
        f"climanchor.{name}"
        for name in (
            "archive", "preprocess", "fingerprint", "detection", "estimators", "kernels", "simulate", "experiments",
            "plotting", "datasets", "workflow",
        )
    ),
)  # fmt: skip


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Node | None:
    """Link a Python name by its last part, or leave it as text."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    here = node.get("py:module")
    name = target.rpartition(".")[2] if target.startswith("climanchor.") else target  # or a method: Fingerprint.score
    domain = env.domains.python_domain
    for place in (here, *PLACES):
        full = f"{place}.{name}"
        if full in domain.objects:
            entry = domain.objects[full]
            return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, full)
    return None


def escape_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep ``|r|`` in running text: to docutils bars are a substitution."""
    lines[:] = [
        line if line.lstrip().startswith(">>>") else re.sub(r"(?<![\w`|])\|r\|", r"\|r\|", line) for line in lines
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen for names that were not found, and for docstrings."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Show climanchor's figures in the gallery: they are not registered with pyplot, where sphinx-gallery looks.

Use it in ``conf.py`` as ``sphinx_gallery_conf = {"image_scrapers": ("gallery_figures.scrape",), ...}`` with this
folder on ``sys.path``.
"""

from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_shown: "WeakSet[Figure]" = WeakSet()


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures that a block of an example made (named, or its last expression) and return their markup."""
    values = block_vars["example_globals"].values()
    figures = [value for value in dict.fromkeys(v for v in values if isinstance(v, Figure)) if value not in _shown]
    paths = []
    for figure in figures:
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=200)
        paths.append(path)
        _shown.add(figure)
    return str(figure_rst(paths, gallery_conf["src_dir"]))

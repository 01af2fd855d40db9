"""How the documentation is built: everything from this folder and the package, nothing from the network."""

import hashlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "climanchor"
sys.path[:0] = [str(HERE), str(HERE / "_ext")]
os.environ.setdefault("MPLBACKEND", "Agg")

from climanchor import __version__  # noqa: E402 - after the path is set

project = "climanchor"
author = "The climanchor developers"
copyright = author
version = release = __version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "svg_math",
    "docstrings",
    "generated_pages",
]
exclude_patterns = ["_build", "examples", "reference/generated", "**.ipynb_checkpoints"]
nitpicky = False
suppress_warnings = ["config.cache"]  # gallery options hold functions, which cannot be pickled

# Text
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Interfaces: types are told in the docstrings, in words
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "set_fit_request,set_score_request"}  # scikit-learn's own
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False
add_module_names = False
toc_object_entries_show_parents = "hide"

# Notebooks run at every build, unless they ran before with the same package
_sources = sorted(PACKAGE.rglob("*.py"))
_digest = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:12]
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "jupyter_cache" / _digest)
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "image_scrapers": ("gallery_figures.scrape",),
    "notebook_extensions": set(),
    "reset_modules": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "ignore_repr_types": "Figure|Axes",
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
}

# Look
html_theme = "pydata_sphinx_theme"
html_title = "climanchor"
html_static_path = ["_static"]
html_css_files = ["climanchor.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "logo": {"text": "climanchor"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["sphinx-version"],
    "footer_end": ["theme-version"],
}

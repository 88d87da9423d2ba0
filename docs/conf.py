"""Sphinx: `python -m sphinx -n -W docs docs/_build`."""

import maxhard

project = "maxhard"
author = "The maxhard authors"
copyright = "2026, the maxhard authors"
version = release = maxhard.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 2
exclude_patterns = ["_build"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more than `Any` does

html_theme = "furo"
html_title = "maxhard"

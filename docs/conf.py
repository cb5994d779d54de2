"""Settings of Sphinx: `sphinx-build -W -n -b html docs build/docs` makes the site, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
sys.path.insert(0, str(TOP))

from coded_mr import __version__  # noqa: E402 - the package beside these pages, installed or not

project = "coded_mr"
author = "the authors of coded_mr"
copyright = "the authors of coded_mr"
release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "docs.extensions.commands",
    "docs.extensions.docstrings",
    "docs.extensions.figures",
    "docs.extensions.formulas",
    "docs.extensions.mathml",
    "docs.extensions.modules",
]
root_doc = "index"
exclude_patterns = ["extensions"]
nitpicky = True

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
math_numfig = False
html_math_renderer = "mathml"

autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
suppress_warnings = ["ref.python"]  # two modules have a Machine, and annotations say which by import only
autodoc_mock_imports = ["mpi4py"]  # a site can be built where there is no MPI
# Names of other projects, whose pages a build without a network cannot look up, and aliases of types.
nitpick_ignore_regex = [
    ("py:.*", r"(argparse|collections|ctypes|fractions|logging|mpi4py|MPI|np|npt|numpy|pathlib|typing)\..*"),
    (
        "py:.*",
        r"(.*\.)?(Array|Carrier|Delay|Doubles|Fraction|Implementation|Key|Kind|NDArray|Pair|Reals|S|Scheme|T|Value)",
    ),
]

html_theme = "furo"
html_title = "coded_mr"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
smartquotes = False
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
pygments_style = "default"
pygments_dark_style = "github-dark"

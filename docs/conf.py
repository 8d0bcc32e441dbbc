"""How the pages become a site: `make docs`.

Sphinx, because its search runs in the reader's browser without a server (the index is a script, so it works from a
folder too), its reference comes from the docstrings, and a broken link fails the build. MyST reads the pages as they
are; Furo has light, dark and narrow screens and asks no other host for anything.
"""

import hedgerow

project = "hedgerow"
author = "the hedgerow authors"
release = version = hedgerow.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_site"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = f"hedgerow {version}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
default_role = "code"  # docstrings write `name` as pages do

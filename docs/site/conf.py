"""Sphinx's settings for the course's site. The source tree is made by `python -m autograder.site`, which calls Sphinx."""

from pathlib import Path

from autograder.site import address

project = "From Prompt to Token"
author = "the course's authors"
extensions = ["myst_nb", "sphinx_copybutton", "autograder.site.sphinx_ext"]

# Formulas become MathML while the site is built; nothing is fetched and no script runs for them.
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

# The notebooks come executed. Widgets are pictures by then, so the scripts for them, which lie elsewhere, are not asked for.
nb_execution_mode = "off"
nb_ipywidgets_js = {}

# Quotes stay as they are written: many of them stand in values.
smartquotes = False

html_theme = "furo"
html_title = "From Prompt to Token"
html_static_path = ["static"]
html_css_files = ["course.css"]
html_js_files = ["course.js"]
html_search_scorer = str(Path(__file__).with_name("static") / "scorer.js")
html_favicon = "static/icon.svg"
# Module names are underlined in the theme's own dark style, like links.
pygments_dark_style = "a11y-high-contrast-dark"
html_show_copyright = False
# The pages' sources are left out: they say nothing more, and a site without answers must hold none anywhere.
html_copy_source = False
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"

# Without an address in the environment or in pyproject.toml the pages show none.
html_baseurl = address.site()
if address.repository():
    html_theme_options = {
        "footer_icons": [{"name": "The course's repository", "url": address.repository(), "html": "the course's repository", "class": ""}]
    }

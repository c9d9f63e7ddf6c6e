"""The templates of the pages for staff: they have one style, escape everything that came from a student, and fetch nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...notebook.render import points_text

TEMPLATES = Path(__file__).parent / "templates"


def rendered(template: str, **values: Any) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"points": points_text, "percent": lambda share: f"{share * 100:.0f} %"}
    return environment.get_template(template).render(**values)

"""Pictures of expected and got, if a picture says more than numbers.

Distributions are bars, masks grids, and the times of a lost race groups of bars. The pictures are plain HTML with inline styles,
because a notebook's own sanitizer removes SVG when the notebook is opened again. The numbers are beside each picture.
"""

from __future__ import annotations

import ast
import math
from html import escape
from typing import Any

MAX_ENTRIES = 24
HEIGHT = 44
"""The height in pixels of the highest bar."""
EXPECTED, SAME, DIFFERENT = "#2a6f97", "#6f8f72", "#d54309"
RACERS, OTHER = {"reference": EXPECTED, "yours": DIFFERENT}, "#888"
TOLERANCE = 5e-3
"""The share of the highest bar below which a difference is not marked: a picture cannot show it."""


def picture(expected: str | None, got: str | None) -> str:
    """Return HTML for two texts with lists of numbers, or of True and False, of the same shape; "" for anything else."""
    want, have = _read(expected), _read(got)
    if want is None or have is None:
        return ""
    if _is_row(want) and _is_row(have) and len(want) == len(have) >= 3:
        return _bars(want, have)
    if _is_grid(want) and _is_grid(have) and [len(r) for r in want] == [len(r) for r in have]:
        return _grids(want, have)
    return ""


def race(times: dict[str, dict[str, float]]) -> str:
    """Return HTML for the times of a lost race: a group of bars for each size with a bar for each version; "" without times.

    times: {size: {version: time as a multiple of the shortest}}, as in `Verdict.times`.
    """
    if not times:
        return ""
    most = max(value for of in times.values() for value in of.values())
    groups = []
    for size, of in times.items():
        bars = "".join(
            f'<div><div style="font-size:0.8em;text-align:center;">{value:.1f}</div>'
            f'<div style="width:28px;height:{max(1, round(HEIGHT * value / most))}px;background:{RACERS.get(whose, OTHER)};"></div></div>'
            for whose, value in of.items()
        )
        groups.append(
            f'<div><div style="display:flex;align-items:flex-end;gap:2px;height:{HEIGHT + 20}px;">{bars}</div>'
            f'<div style="font-size:0.8em;text-align:center;">{escape(size)}</div></div>'
        )
    names = next(iter(times.values()))
    legend = "".join(
        f'<div><span style="display:inline-block;width:9px;height:9px;background:{RACERS.get(whose, OTHER)};"></span> {escape(whose)}</div>'
        for whose in names
    )
    groups.append(f'<div style="font-size:0.8em;align-self:center;"><div>times the shortest time</div>{legend}</div>')
    return _figure(race_in_words(times), "".join(groups), gap=14)


def race_in_words(times: dict[str, dict[str, float]]) -> str:
    """Return the times of a lost race as one sentence."""
    sizes = [size for size in times if size]
    where = f" at {', '.join(sizes)}" if sizes else ""
    each = "; ".join(f"{whose} {', '.join(f'{of[whose]:.1f}' for of in times.values())}" for whose in next(iter(times.values())))
    return f"times{where}, the shortest as 1: {each}"


def _read(text: str | None) -> Any:
    if text is None or not text.startswith("[") or len(text) > 2000:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # a batch of one row
    return value


def _is_row(value: Any) -> bool:
    """Return True for finite numbers without a negative one, as in a distribution."""
    if not isinstance(value, list) or not 0 < len(value) <= MAX_ENTRIES:
        return False
    return all(type(v) in (int, float) and math.isfinite(v) and v >= 0 for v in value)


def _is_grid(value: Any) -> bool:
    """Return True for rows of True and False of one length."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) and row for row in value):
        return False
    return len({len(row) for row in value}) == 1 and all(type(v) is bool for row in value for v in row)


def _bars(want: list[float], have: list[float]) -> str:
    most = max(*want, *have) or 1.0
    wrong = [i for i, (w, h) in enumerate(zip(want, have, strict=True)) if abs(w - h) > TOLERANCE * most]
    columns = []
    for index, (w, h) in enumerate(zip(want, have, strict=True)):
        colour = DIFFERENT if index in wrong else SAME
        columns.append(
            '<div style="display:flex;flex-direction:column;align-items:center;">'
            f'<div style="display:flex;align-items:flex-end;height:{HEIGHT}px;">'
            f'<div style="width:9px;height:{max(1, round(HEIGHT * w / most))}px;background:{EXPECTED};"></div>'
            f'<div style="width:9px;height:{max(1, round(HEIGHT * h / most))}px;background:{colour};"></div></div>'
            f'<div style="font-size:0.8em;">{index}</div></div>'
        )
    places = ", ".join(map(str, wrong)) or "none that a picture shows"
    return _figure(f"Bars of expected (left of each pair, blue) and got (right); they differ at: {places}", "".join(columns), gap=5)


def _grids(want: list[list[bool]], have: list[list[bool]]) -> str:
    wrong = [(i, j) for i, (a, b) in enumerate(zip(want, have, strict=True)) for j in range(len(a)) if a[j] != b[j]]
    grids = []
    for name, rows in (("expected", want), ("got", have)):
        lines = []
        for i, row in enumerate(rows):
            squares = ""
            for j, value in enumerate(row):
                edge = DIFFERENT if rows is have and (i, j) in wrong else "#888"
                fill = EXPECTED if value else "transparent"
                squares += f'<div style="width:12px;height:12px;margin:1px;border:1px solid {edge};background:{fill};"></div>'
            lines.append(f'<div style="display:flex;">{squares}</div>')
        grids.append(f'<div><div style="font-size:0.8em;">{name}</div>{"".join(lines)}</div>')
    places = ", ".join(f"row {i}, column {j}" for i, j in wrong[:6])
    return _figure(f"Grids of expected and got, True filled; they differ at: {places}", "".join(grids), gap=24)


def _figure(words: str, inside: str, *, gap: int) -> str:
    return (
        f'<div role="img" aria-label="{escape(words)}" title="{escape(words)}" '
        f'style="display:flex;gap:{gap}px;margin:4px 0;">{inside}</div>'
    )

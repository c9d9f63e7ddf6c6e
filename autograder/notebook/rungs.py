"""The rungs of a student's ladder, as they are stored in the workspace and shown. `ladder.py` defines a rung, and adds one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from . import render, workspace

BAR_WIDTH = 20


@dataclass(frozen=True)
class Rung:
    """One rung of the ladder.

    batch: tokens that a step makes. tokens_per_second: new tokens of all rows together. bandwidth: bytes/s needed at this speed to read the
    weights once per step. of_bandwidth: that bandwidth divided by this machine's bandwidth in a plain sum. when: seconds since
    1970.
    """

    name: str
    model: str
    batch: float
    tokens_per_second: float
    bandwidth: float
    of_bandwidth: float
    when: float

    @property
    def line(self) -> str:
        made = f", {self.batch:g} rows" if float(self.batch).is_integer() else f", {self.batch:.2f} tokens a step"
        rows = made if self.batch != 1 else ""
        return (
            f"{self.name}: {two_digits(self.tokens_per_second)} tokens/s ({self.model}{rows}), "
            f"{self.of_bandwidth:.0%} of the {self.bandwidth / self.of_bandwidth / 1e9:.0f} GB/s this machine reads"
        )


def two_digits(speed: float) -> str:
    """Return a speed with one decimal, or with as many as two significant digits take."""
    decimals = 1 - math.floor(math.log10(speed)) if 0 < speed < 1 else 1
    return f"{speed:.{decimals}f}"


def rungs() -> list[Rung]:
    """Return all rungs of this workspace, in the order they were first set."""
    found = []
    for entry in workspace.read_progress(workspace.workspace_folder()).get("ladder", {}).values():
        try:
            found.append(Rung(**entry))
        except TypeError:
            continue
    return found


def text(found: list[Rung]) -> str:
    most = max(r.tokens_per_second for r in found)
    lines = ["Your ladder, tokens per second:"]
    for each in found:
        bar = "#" * max(1, round(BAR_WIDTH * each.tokens_per_second / most))
        speed = f"{two_digits(each.tokens_per_second):>8}  {each.of_bandwidth:4.0%}"
        lines.append(f"  {speed}  {bar:<{BAR_WIDTH}}  {each.name} ({each.model}, B = {each.batch:.4g})")
    return "\n".join(lines)


def html(found: list[Rung]) -> str:
    """Return a table with a bar for each rung; the numbers are beside the bars."""
    most = max(r.tokens_per_second for r in found)
    heads = ("rung", "model", "tokens a step", "tokens/s", "drawn", "of bandwidth")
    rows = []
    for each in found:
        width = max(1, round(160 * each.tokens_per_second / most))
        bar = f'<div aria-hidden="true" style="width:{width}px;height:0.8em;background:#2a6f97;margin-top:0.2em;"></div>'
        numbers = f"{each.batch:.4g}", two_digits(each.tokens_per_second)
        rows.append((escape(each.name), escape(each.model), *numbers, bar, f"{each.of_bandwidth:.0%}"))
    return render.plain_table(heads, rows, "Your ladder")

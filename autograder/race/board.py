"""The board: entries stored in one file, and a page of them. Entries without a name belong to "somebody"."""

from __future__ import annotations

import html
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course.kit.paths import ROOT

from .. import __version__
from ..base.files import write_whole
from ..grading.records import machine_name
from .running import Outcome

NAMELESS = "somebody"
MOST_NAME = 40
MOST_ENTRIES = 1000
COLUMNS = ("served", "tokens/s", "reference", "TTFT p99", "ITL p99")


@dataclass(frozen=True)
class Entry:
    """A race with a score. rates: the results at each rate, in the form of `Rate`.

    model, board: the race's model and the rule for its tokens. Only entries with the same model and rule are compared. not_verified: "" or
    the reason why the entry must not be compared.
    """

    name: str
    model: str
    board: str
    score: float
    rates: list[dict[str, Any]]
    differs: float
    seed: int
    machine: str
    commit: str
    not_verified: str


def entry_of(outcome: Outcome, name: str, not_verified: str) -> Entry:
    """Return the entry of an outcome that has a score."""
    assert outcome.score is not None
    assert outcome.differs is not None
    rates = [asdict(rate) for rate in outcome.rates]
    name = name.strip()[:MOST_NAME] or NAMELESS
    return Entry(name, outcome.model, outcome.board, outcome.score, rates, outcome.differs, outcome.seed, machine(), commit(), not_verified)


def machine() -> str:
    """Return the system and the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return machine_name()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{machine_name()}, {model}" if model else machine_name()


def commit() -> str:
    """Return the course's commit, with + if files differ from it. Return the course's version if git is missing."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return f"version {__version__}"
    return described.stdout.strip()


def add(folder: Path, entry: Entry) -> Path:
    """Put an entry on the board in a folder. Return the path of its page."""
    path = folder / "entries.json"
    try:
        entries = [Entry(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        entries = []
    entries = [*entries, entry][-MOST_ENTRIES:]
    write_whole(path, json.dumps([asdict(each) for each in entries], indent=1, ensure_ascii=False).encode())
    target = folder / "index.html"
    write_whole(target, page(entries).encode())
    return target


def page(entries: list[Entry]) -> str:
    """Return the board as one HTML page without scripts or outside requests.

    It has a table for each model and rule, verified entries first, by score.
    """
    kinds = sorted({(each.model, each.board) for each in entries}, key=lambda kind: (kind[0] != "tiny", kind))
    return PAGE.format(tables="\n".join(_table(kind, [each for each in entries if (each.model, each.board) == kind]) for kind in kinds))


def _table(kind: tuple[str, str], entries: list[Entry]) -> str:
    ordered = sorted(entries, key=lambda each: (bool(each.not_verified), -each.score))
    heads = ["", "name", "score"]
    heads += [f"{what} at {rate['rate']:g}x" for rate in ordered[0].rates for what in COLUMNS]
    heads += ["differs", "seed", "commit", "machine", ""]
    rows = [_row(place, each) for place, each in enumerate(ordered, start=1)]
    return TABLE.format(title=html.escape(", ".join(kind)), heads="".join(f"<th>{head}</th>" for head in heads), rows="\n".join(rows))


def _row(place: int, entry: Entry) -> str:
    cells = [str(place), entry.name, f"{entry.score:.2f}"]
    for rate in entry.rates:
        cells += [f"{rate['served']:.0%}", f"{rate['goodput']:,.0f}", f"{rate['reference_goodput']:,.0f}"]
        cells += [_ms(rate["ttft_p99"]), _ms(rate["itl_p99"])]
    cells += [f"{entry.differs:+.1%}", str(entry.seed), entry.commit, entry.machine]
    cells.append(f"not verified: {entry.not_verified}" if entry.not_verified else "")
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.1f} ms"


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The race</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .7rem; text-align: right; border-bottom: 1px solid #ccc; white-space: nowrap; }}
th:nth-child(2), td:nth-child(2), th:nth-last-child(-n+3), td:nth-last-child(-n+3) {{ text-align: left; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #eee; background: #161616; }} th, td {{ border-color: #444; }} }}
</style>
<h1>The race</h1>
<p>Score: the load that the engine keeps up with, as a multiple of the load of the course's engine in the same run. Rates are multiples
of the capacity of the course's engine. served: the share of the requested tokens whose requests kept both promises. tokens/s: these
tokens per second of processor time, for both engines. differs: the course's engine against a second run of itself. Scores of different
machines are not comparable.</p>
{tables}
</html>
"""
TABLE = """<h2>{title}</h2>
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>"""

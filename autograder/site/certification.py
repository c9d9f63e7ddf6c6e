"""The page "How the grader is graded": docs/certification.md, made from the results of `autograder certify --into`.

The results are in docs/data/certification.json. Two pages go with it: docs/attacks.md, and docs/mutants.md from docs/data/mutants.json and
docs/data/mutants_right.json, which `autograder certify --mutate --into` wrote. `make generate` writes all three.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from autograder.base.course_table import known_topics
from autograder.base.errors import CourseError
from autograder.base.files import write_whole
from autograder.certification.attack_suite import read_attacks
from autograder.certification.certify import SUMS
from autograder.lessons import ROOT, Day, find_day, syllabus
from autograder.notebook.render import points_text

from . import mutants

RESULTS = ROOT / "docs" / "data" / "certification.json"
MORE_RESULTS = "certification_*.json"
PAGE = ROOT / "docs" / "certification.md"
ATTACKS_PAGE = ROOT / "docs" / "attacks.md"
ATTACKED = "softmax"
"""The day whose notebook the attacks use."""
MUTANTS_PAGE = ROOT / "docs" / "mutants.md"
BLIND_ROUNDS = ROOT / "specimens" / "blind_rounds.toml"
BLIND_COLUMNS = ("incorrect solutions", "with full marks", "caught by hidden checks only", "correct solutions", "of these failed")
TEMPLATE = ROOT / "docs" / "site" / "certification.md"

KINDS = {
    "read": "read answers or other people's files",
    "forge": "forge points",
    "persist": "leave something behind for the next submission",
    "damage": "hang, crash, or eat the machine",
    "network": "reach a network",
}


def page(results: Path = RESULTS) -> str:
    """Return the whole page as Markdown. Files beside `results` may contain runs of the attacks at further isolation levels."""
    figures = read(results)
    runs = [figures, *(read(path) for path in sorted(results.parent.glob(MORE_RESULTS)))]
    text = TEMPLATE.read_text(encoding="utf-8")
    adversary = mutants.read_runs(results.parent)
    parts = {
        "headline": [headline(figures)],
        "run": [circumstances(figures, syllabus())],
        "versions": versions(figures, syllabus()),
        "blind": blind_rounds(tomllib.loads(BLIND_ROUNDS.read_text(encoding="utf-8"))["round"]),
        "mutants": mutants.section(adversary, syllabus()),
        "attacks": attacks(runs),
    }
    for name, lines in parts.items():
        text = text.replace(f"{{{{ {name} }}}}", "\n".join(lines))
    return text


def read(path: Path) -> dict[str, Any]:
    """Return a file's results. Raises CourseError unless `autograder certify` made it with --json or --into."""
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CourseError(f"{path}: {error}; make it with `autograder certify --into {path}`") from None
    if not isinstance(figures, dict) or not {"run", "topics"} <= set(figures):
        raise CourseError(f"{path}: not the output of `autograder certify --json`")
    return each_with_its_run(figures)


def each_with_its_run(figures: dict[str, Any]) -> dict[str, Any]:
    """Add their run (date, commit, machine, seeds) to each topic's counts and to the attacks' counts."""
    run = {**figures["run"], "seeds": figures["seeds"]}
    topics = {name: {"run": run, **counts} for name, counts in figures["topics"].items()}
    return {**figures, "topics": topics, **({"attacks_run": figures.get("attacks_run", run)} if "attacks_total" in figures else {})}


def joined(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """Merge two certifications: results of the newer one replace the older one's; other topics and attacks stay."""
    older, newer = each_with_its_run(older), each_with_its_run(newer)
    topics = {**older["topics"], **newer["topics"]}
    order = known_topics()
    sums = {name: sum(topic[name] for topic in topics.values()) for name in SUMS}
    return {**older, **newer, "topics": {name: topics[name] for name in sorted(topics, key=order.index)}, **sums}


def headline(figures: dict[str, Any]) -> str:
    attacks = ""
    if "attacks_total" in figures:
        attacks = f", and {figures['attacks_honest']} of {figures['attacks_total']} attacks were contained"
    return (
        f"**{figures['right_passed']:,} of {figures['right_total']:,} correct solutions passed, "
        f"{figures['wrong_killed']:,} of {figures['wrong_total']:,} incorrect ones were caught{attacks}.**"
    )


def circumstances(figures: dict[str, Any], days: list[Day]) -> str:
    """Return a sentence that names the machine and version behind the figures; several machines are listed with their days."""
    places: dict[str, list[str]] = {}
    for day in days:
        if day.topic in figures["topics"]:
            places.setdefault(place(figures["topics"][day.topic]["run"]), []).append(f"Day {day.number}")
    where = next(iter(places)) if len(places) == 1 else "; ".join(f"{', '.join(judged)}: {here}" for here, judged in places.items())
    return (
        "`autograder certify` made these figures. Each day's are from its last run, at the date and the commit in the table: "
        f"{where}. Run the command to repeat the certification on your machine."
    )


def place(run: dict[str, Any]) -> str:
    seeds = "one seed" if run["seeds"] == 1 else f"{run['seeds']} seeds"
    return (
        f"course version {run['course_version']}, on {run['machine']}, Python {run['python']}, torch {run['torch']}, "
        f"at isolation level `{run['isolation']}`, with {seeds} for each solution"
    )


def versions(figures: dict[str, Any], days: list[Day]) -> list[str]:
    """Return a table of days, then for each day a table of exercises with a list of failures below it."""
    rows = [(day, figures["topics"][day.topic]) for day in days if day.topic in figures["topics"]]
    counted = ["correct solutions passed | incorrect solutions caught |", "|---|---|---|"]
    lines = [f"| day | {counted[0]} mistake named | nearest to a time limit | judged |", f"{counted[1]}---|---|---|"]
    for day, topic in rows:
        cells = (f"Day {day.number}, {day.title}", passed(topic), caught(topic), named(topic), nearest(topic), mutants.when(topic["run"]))
        lines.append(f"| {' | '.join(cells)} |")
    lines.append(f"| **all** | **{passed(figures)}** | **{caught(figures)}** | **{named(figures)}** | | |")
    if newer := [f"Day {day.number}" for day in days if day.ready and day.topic not in figures["topics"]]:
        lines += ["", f"Not judged for this page: {', '.join(newer)}."]
    for day, topic in rows:
        lines += ["", f"### Day {day.number}, {day.title}", "", f"| exercise | {counted[0]}", counted[1]]
        lines += [f"| `{name}` | {passed(counts)} | {caught(counts)} |" for name, counts in topic["exercises"].items()]
        entries = {"passed, though incorrect": "survivors", "failed, though correct": "false_failures", "does not run": "invalid"}
        faults = [f"- {what}: `{one['file']}`: {one.get('difference', '')}" for what, name in entries.items() for one in topic[name]]
        lines += ["", *faults] if faults else []
    return lines


def nearest(counts: dict[str, Any]) -> str:
    share = counts.get("nearest_limit", {}).get("share")
    return "" if share is None else f"{share:.0%}"


def named(counts: dict[str, Any]) -> str:
    """Return how many incorrect versions got the name of their own mistake; "" for old runs, which did not count this."""
    return f"{counts['named']:,} of {counts['wrong_total']:,}" if "named" in counts else ""


def passed(counts: dict[str, Any]) -> str:
    return f"{counts['right_passed']:,} of {counts['right_total']:,}"


def caught(counts: dict[str, Any]) -> str:
    return f"{counts['wrong_killed']:,} of {counts['wrong_total']:,}"


def blind_rounds(rounds: list[dict[str, Any]]) -> list[str]:
    """Return a table for each round, the newest first, with a row for each day or group of days and a row of sums."""
    lines = []
    for each in sorted(rounds, key=lambda one: one["date"], reverse=True):
        counted = set.intersection(*(set(row) for row in each["days"])) - {"days"}
        sums = {name: sum(row[name] for row in each["days"]) for name in counted}
        lines += ["", f"**Round of {each['date']}**", ""]
        lines += [f"| days | {' | '.join(BLIND_COLUMNS)} |", f"|---|{'---|' * len(BLIND_COLUMNS)}"]
        lines += [blind_row(f"{'Days' if ' ' in row['days'] else 'Day'} {row['days']}", row) for row in each["days"]]
        lines.append(blind_row("**all**", sums))
    return lines[1:]


def blind_row(days: str, counts: dict[str, Any]) -> str:
    survived = f"{counts['survived']} ({counts['survived'] / counts['incorrect']:.1%})"
    cells = (f"{counts['incorrect']:,}", survived, counts.get("hidden_only", "not counted"), counts["correct"], counts["failed"])
    return f"| {days} | {' | '.join(map(str, cells))} |"


def attacks(runs: list[dict[str, Any]]) -> list[str]:
    """Return a table with a row for each kind of attack and a column for each isolation level that was tried."""
    runs = [run for run in runs if run.get("attacks_total")]
    if not runs:
        return ["This run judged no attacks."]
    levels = " | ".join(f"contained at level `{run['attacks_run']['isolation']}`" for run in runs)
    lines = [f"| they try to | {levels} |", f"|---|{'---|' * len(runs)}"]
    for kind, words in KINDS.items():
        if all(kind in run["attacks_by_kind"] for run in runs):
            counts = " | ".join(f"{run['attacks_by_kind'][kind]['honest']} of {run['attacks_by_kind'][kind]['total']}" for run in runs)
            lines.append(f"| {words} | {counts} |")
    totals = " | ".join(f"**{run['attacks_honest']} of {run['attacks_total']}**" for run in runs)
    dates = "; ".join(f"`{run['attacks_run']['isolation']}`: {mutants.when(run['attacks_run'])}" for run in runs)
    lines += [f"| **all** | {totals} |", "", f"[Attacks](attacks.md) describes each attack. Last tried: {dates}."]
    for run in runs:
        level, date = run["attacks_run"]["isolation"], run["attacks_run"]["date"]
        lines += [f"- not contained at `{level}` ({date}): `{a['attack']}`, {'; '.join(a['trouble'])}" for a in run["attacks_not_honest"]]
    return lines


def attacks_page(results: Path = RESULTS) -> str:
    """Return the page on attacks as Markdown: each attack, the points that its honest part earns, and the result of the last run."""
    figures = read(results)
    run, failed = figures["attacks_run"], {each["attack"]: "; ".join(each["trouble"]) for each in figures["attacks_not_honest"]}
    found = read_attacks(find_day(ATTACKED))
    newer = f" {more} more were added since." if (more := len(found) - figures["attacks_total"]) > 0 else ""
    lines = [
        "# Attacks",
        "",
        f"{figures['attacks_honest']} of {figures['attacks_total']} attacks were contained on {mutants.when(run)}, at isolation level "
        f"`{run['isolation']}`.{newer} `autograder certify attacks` runs them again.",
        "",
        "Each attack is a submission in `specimens/attacks/`, graded like any other, from the notebook's file to the record.",
        "An attack is contained if it ends in time, gets exactly the points of its honest part, changes no file and leaves no process, "
        "and if the next correct submission gets full marks straight afterwards.",
        "An attack that succeeded would solve the other exercises, and so get more than its honest points.",
        "Archives of submissions never reach a worker: `tests/gradebook/lms/test_collect.py` attacks `autograder collect` "
        "with zip bombs, paths that lead out, links, devices and damage.",
    ]
    for kind in KINDS:
        lines += ["", f"## {kind.capitalize()}", "", "| attack | tries to | honest points | |", "|---|---|---|---|"]
        for attack in found:
            if attack.kind == kind:
                verdict = f"NOT CONTAINED: {failed[attack.name]}" if attack.name in failed else ""
                lines.append(f"| `{attack.name}` | {cell(attack.tries_to)} | {points_text(attack.points)} | {verdict} |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    return text.replace("|", "/")


def write() -> None:
    write_whole(PAGE, page().encode())
    write_whole(ATTACKS_PAGE, attacks_page().encode())
    write_whole(MUTANTS_PAGE, mutants.page(mutants.read_runs(RESULTS.parent), syllabus()).encode())


if __name__ == "__main__":
    write()

"""The command that grades the grader: certify."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base import own
from ..base.errors import CourseError
from ..base.files import write_whole
from ..base.wording import counted
from .grading import console, progress_bar, say, stderr, use_own_checks

if TYPE_CHECKING:
    from ..certification import attack_suite
    from ..certification.certify import Judgement, TopicResult

EVERY = 100
"""The number of specimens between two messages without a progress bar: a whole certification takes most of an hour."""


def register(app: typer.Typer) -> None:
    app.command()(certify)


def certify(
    topic: Annotated[str | None, typer.Argument(help="A topic (samplers), a day (day05), or `attacks`; all if left out.")] = None,
    specimens: Annotated[Path | None, typer.Option(help="Folder of <topic>/<exercise>.py, or <topic>/right_*.py, wrong_*.py.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds for each specimen.")] = 3,
    jobs: Annotated[int | None, typer.Option(min=1, help="Specimens judged side by side; default: processors.")] = None,
    learn: Annotated[bool, typer.Option(help="Rebuild the tables of known mistakes from the incorrect solutions.")] = False,
    isolation: Annotated[str, typer.Option(help="auto, or a level: namespaces, landlock, seccomp, none.")] = "auto",
    mutate: Annotated[bool, typer.Option("--mutate", help="Judge mutants of correct solutions instead.")] = False,
    exercise: Annotated[str | None, typer.Option(help="Mutants of one exercise only.")] = None,
    origin: Annotated[str, typer.Option(help="Origin of the mutants: reference, right, all (both), one right_NAME.py, or kinds.")] = "all",
    share: Annotated[int, typer.Option(min=1, help="Judge one in N of the mutants of correct solutions.")] = 12,
    changed: Annotated[bool, typer.Option("--changed", help="Judge what a change may have broken, and a tenth of the rest.")] = False,
    minutes: Annotated[float, typer.Option(min=0, help="With --changed: approximate duration.")] = 5,
    draw: Annotated[int | None, typer.Option(min=0, help="With --changed: the seed of an earlier draw.")] = None,
    into: Annotated[Path | None, typer.Option(help="Merge the results into this file of earlier ones.")] = None,
    survivors: Annotated[bool, typer.Option("--survivors", help="Print surviving mutants as entries for equivalent.toml.")] = False,
) -> None:
    """Grade the grader: correct solutions must pass, incorrect ones must fail, attacks must score only their honest answers."""
    from ..sandbox.process.forkserver_pool import want
    from .mutating import judge_mutants

    want(isolation)
    if learn or mutate or changed or into:
        own.use(None)
    if topic not in (None, "attacks"):
        topic = topic_of(topic)
    if learn:
        learn_mistakes(topic, jobs)
    elif mutate:
        judge_mutants(topic, exercise, origin, share, specimens, jobs, survivors, as_json, into)
    elif changed:
        if topic or specimens or as_json or into:
            raise CourseError("--changed judges a part of all topics: leave out the topic, --specimens, --json and --into")
        judge_changed(minutes, draw, jobs)
    else:
        certify_topics(topic, specimens, seeds, jobs, as_json, into)


def certify_topics(topic: str | None, specimens: Path | None, seeds: int, jobs: int | None, as_json: bool, into: Path | None) -> None:
    """Judge specimens and attacks, and report. Exit with status 2 if a judgement is invalid, with 1 if one is not as expected.

    In a class's folder the class's own checks run, too. Published figures (into) never include them.
    """
    from ..base.specimen_files import SPECIMENS
    from ..certification.certify import require_commit, specimen_topics

    folder = specimens or own_specimens(topic) or SPECIMENS
    results: list[TopicResult] = []
    if into:
        require_commit()
    elif topic != "attacks":
        use_own_checks(Path(), specimen_topics(folder, topic))
    if topic != "attacks":
        for part in specimen_topics(folder, topic) if into else [topic]:
            results += (judged := judge_specimens(part, folder, seeds, jobs))
            if into:  # after each topic: an interrupted run loses one topic at most
                put_into(into, as_data(judged, None, seeds))
    attacks = run_attacks() if topic == "attacks" or (topic is None and specimens is None) else None
    if into and attacks is not None:
        put_into(into, as_data([], attacks, seeds))
    if as_json:
        print(json.dumps(as_data(results, attacks, seeds), indent=2, ensure_ascii=False))
    else:
        print_results(results, attacks, seeds)
    if any(r.invalid for r in results):
        raise typer.Exit(2)
    if not all(r.clean for r in results) or not all(r.honest for r in attacks or []):
        raise typer.Exit(1)


def own_specimens(topic: str | None) -> Path | None:
    """Return the specimens folder of a class's own day; None for a topic of the course."""
    folder = own.used()
    return folder / "specimens" if folder is not None and topic in own.topics() else None


def judge_specimens(topic: str | None, folder: Path, seeds: int, jobs: int | None) -> list[TopicResult]:
    from ..base.specimen_files import find_specimens
    from ..certification import certify as c

    with progress_bar("specimens", len(list(find_specimens(folder, c.specimen_topics(folder, topic))))) as advance:
        return c.certify(topic, folder=folder, seeds=seeds, jobs=jobs, progress=followed_by(advance))


def run_attacks() -> list[attack_suite.Result]:
    from ..certification import attack_suite

    with progress_bar("attacks", len(attack_suite.texts())) as advance:
        return attack_suite.run(progress=advance)


def as_data(results: list[TopicResult], attacks: list[attack_suite.Result] | None, seeds: int) -> dict[str, Any]:
    from ..certification import attack_suite
    from ..certification import certify as c

    figures = {"run": c.circumstances(), "seeds": seeds, **c.as_json(results)}
    return figures if attacks is None else figures | attack_suite.as_json(attacks)


def print_results(results: list[TopicResult], attacks: list[attack_suite.Result] | None, seeds: int) -> None:
    if results:
        print_certification(results, f"Certification, {counted(seeds, 'seed')} a specimen")
    if attacks is not None:
        print_attacks(attacks)


def put_into(path: Path, figures: dict[str, Any]) -> None:
    from ..site.certification import joined, read

    whole = joined(read(path) if path.exists() else figures, figures)
    write_whole(path, (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode())


def judge_changed(minutes: float, draw: int | None, jobs: int | None) -> None:
    """Judge the changed specimens and a part of the others, and report. Exit with status 1 if a judgement is not as expected."""
    from ..certification.certify_changed import DRAWS, drawn, judge_drawn

    results, chosen = drawn(secrets.randbelow(DRAWS) if draw is None else draw)
    with progress_bar("specimens", len(chosen.order)) as advance:
        judge_drawn(results, chosen, minutes=minutes, jobs=jobs, progress=followed_by(advance))
    print_certification(list(results.values()), "Certification of changed specimens and a tenth of the rest", whole=False)
    print("\n".join(chosen.summary()))
    if not all(r.clean for r in results.values()):
        raise typer.Exit(1)


def learn_mistakes(topic: str | None, jobs: int | None) -> None:
    from ..base.specimen_files import SPECIMENS, find_specimens
    from ..certification import certify as c
    from ..certification.mistake_index import learn, read_claims

    for each in c.specimen_topics(SPECIMENS, topic):
        with progress_bar(each, sum(not listed.right for listed in find_specimens(SPECIMENS, [each]))) as advance:
            recognisable, to_review = learn(each, c.in_a_notebook(each, jobs=jobs, progress=advance))
        apart, claims = counted(recognisable, "mistake"), counted(to_review, "claim")
        say(f"{each}: {apart} can be distinguished; {claims} to review in specimens/{each}/causes.json")
        for claim, files in read_claims(each)[1].items():
            say(f"  {claim}\n    {', '.join(files)}")


def followed_by(advance: Callable[..., None]) -> Callable[[int, int, Judgement], None]:
    """Return a progress function that reports unexpected judgements immediately, not after the last specimen."""

    def judged(done: int, total: int, judgement: Judgement) -> None:
        advance()
        if not judgement.as_expected:
            what = "false failure" if judgement.specimen.right else "survivor"
            say(f"{what}: {judgement.specimen.place}")
        if not stderr.is_terminal and done % EVERY == 0:
            say(f"{done:,} of {counted(total, 'specimen')} judged")

    return judged


def topic_of(text: str) -> str:
    """Return the topic for a topic's name or a day's name (day05, 5)."""
    from ..base.course_table import known_topics

    if text in known_topics():
        return text
    from ..lessons import find_day

    return find_day(text).topic


def print_certification(results: list, title: str, *, whole: bool = True) -> None:
    """Print a table of results. whole: every specimen was judged, by every check of its exercise."""
    from rich.table import Table

    table = Table(title=title)
    for column in ("topic", "right passed", "wrong killed", "mistake named", "checks never failed", "nearest to a time limit"):
        table.add_column(column)
    for r in results:
        table.add_row(
            r.topic,
            f"{r.right_passed}/{r.right_total}",
            f"{r.wrong_killed}/{r.wrong_total}",
            f"{r.named}/{r.wrong_total}" if whole else "",
            str(len(r.never_failed)) if whole else "",
            f"{r.nearest_limit['share']:.0%}" if r.nearest_limit else "",
        )
    console.print(table)
    for r in results:
        kinds = {"survivor": r.survivors, "false failure": r.false_failures, "misnamed": r.misnamed, "invalid": r.invalid}
        for kind, entries in kinds.items():
            for entry in entries:
                console.print(f"{kind}: {entry['place']}: {entry.get('difference', '')}\n    {entry['reason']}", markup=False)
        if r.never_failed:
            console.print(f"{r.topic}: no incorrect solution fails {', '.join(r.never_failed)}", markup=False)


def print_attacks(results: list) -> None:
    from rich.markup import escape
    from rich.table import Table

    from ..certification import attack_suite

    table = Table(title=f"Attacks: {sum(r.honest for r in results)} of {len(results)} contained")
    for column in ("attack", "points", "honest", "time", ""):
        table.add_column(column)
    for row in attack_suite.table(results):
        table.add_row(*map(escape, row))
    console.print(table)

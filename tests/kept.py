"""What tests have found out, kept with the course by a digest of all that it depends on, as a specimen's judgement is.

A test that asks for the fixture `kept` (conftest.py) gives it all that could make it come out otherwise, and has nothing to do where that
is as it was when it passed:

    def test_the_cell_tells_right_answers_from_wrong_ones(answer, kept):
        if kept(depends_on(answer)):
            return

Of what is kept, `SHARE` is found out again each time. `pytest --keep`, a part of `make keep`, runs those that are not kept, and keeps
those that pass in `tests/kept/<file>.json`. `KEPT_DRAW=all`, `none`, or a part of a test's name says which are drawn;
where pytest is given files or `-k`, all are.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

from autograder.files import write_whole

FOLDER = Path(__file__).parent / "kept"
SHARE = float(os.environ.get("CERTIFY_SHARE", "0.025"))
"""One in forty, and in CI, which asks for it, one in ten: as of the kept judgements of specimens (test_certify.py)."""
PROPERTY = "kept"
"""Of a report: digest and reason."""
MOST_NAMED = 10

Entries = dict[str, str]
"""{a test, as its file calls it: digest}"""


class Keeping:
    """Whether one test's result is kept. note: is told the digest, and why the test has to run ("" where it has not)."""

    def __init__(
        self, nodeid: str, function: Callable[..., object], note: Callable[[str, str], None], *, keep: bool = False, folder: Path = FOLDER
    ) -> None:
        self.nodeid, self.function, self.note, self.keep, self.folder = nodeid, function, note, keep, folder

    def __call__(self, *depends: object) -> bool:
        """depends: whatever the result depends on, besides the test's own lines; told apart by its repr. keep: nothing is drawn."""
        digest = hashlib.sha256(repr((inspect.getsource(self.function), depends)).encode()).hexdigest()[:16]
        file, name = place(self.nodeid)
        if read(self.folder, file).get(name) != digest:
            why = "not kept"
        else:
            why = "drawn" if not self.keep and is_drawn(self.nodeid) else ""
        self.note(digest, why)
        return not why


def is_drawn(nodeid: str) -> bool:
    draw = os.environ.get("KEPT_DRAW")
    if draw is None:
        return random.random() < SHARE
    return draw != "none" and (draw == "all" or draw in nodeid)


def place(nodeid: str) -> tuple[str, str]:
    """The name of the file, and of the test in it."""
    path, _, name = nodeid.partition("::")
    return Path(path).stem, name


def read(folder: Path, file: str) -> Entries:
    path = folder / f"{file}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep(passed: Entries, *, whole: bool, folder: Path = FOLDER) -> None:
    """passed: {nodeid: digest}. whole: these are all tests of their files that are as they must be; entries of others are dropped."""
    files: dict[str, Entries] = {}
    for nodeid, digest in passed.items():
        file, name = place(nodeid)
        files.setdefault(file, {})[name] = digest
    for file, entries in files.items():
        entries = entries if whole else read(folder, file) | entries
        write_whole(folder / f"{file}.json", (json.dumps(entries, indent=1, sort_keys=True) + "\n").encode())


def told(ran: dict[str, str]) -> list[str]:
    """A line for each file and reason. ran: {nodeid: why}."""
    names: dict[tuple[str, str], list[str]] = {}
    for nodeid, why in sorted(ran.items()):
        file, name = place(nodeid)
        names.setdefault((file, why), []).append(name)
    return [
        f"{file}: {', '.join(those) if len(those) <= MOST_NAMED else f'{len(those)} tests'}: {why}"
        for (file, why), those in sorted(names.items())
    ]

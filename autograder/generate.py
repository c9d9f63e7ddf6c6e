"""The generated files that are stored in git. `make generate` writes them, and CI fails if this changes a file.

`python -m autograder.generate` writes everything that takes seconds, and the tables of known mistakes of the topics whose checks,
reference or incorrect versions have changed since the last release. `--tables all` makes all tables, `--tables none` makes none.
docs/contributing.md lists these files and their sources.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from .base.course_table import known_topics
from .base.specimen_files import SPECIMENS, find_specimens
from .base.wording import counted
from .certification.certify import in_a_notebook
from .certification.certify_changed import FIGURES, commits_of, is_commit, means_otherwise, specimens_at
from .certification.mistake_index import learn
from .grading.verdict_inputs import files
from .lessons import ROOT, build_capstone, build_release, build_source, build_start, syllabus
from .site import certification, cheat_sheet, modules_page, readme


def notebooks() -> None:
    """Write the students' notebooks, the start page and the capstone."""
    for day in syllabus():
        if day.ready:
            build_source(day)
            build_release(day)
    build_start()
    build_capstone()


PAGES: dict[str, Callable[[], object]] = {
    "course/day*/day*.ipynb, course/start_here.ipynb, course/capstone/capstone.ipynb": notebooks,
    "docs/cheat_sheet.md, docs/numbers.md": cheat_sheet.write,
    "docs/certification.md, docs/attacks.md, docs/mutants.md": certification.write,
    "docs/modules.md": modules_page.write,
    ", ".join(readme.PAGES): readme.main,
}
"""The pages as {files: the function that writes them}."""


def changed_tables() -> list[str]:
    """Return the topics whose tables of known mistakes may differ from those of the last release."""
    commits = commits_of(FIGURES)
    return [topic for topic in known_topics() if has_changed(topic, commits.get(topic, ""))]


def has_changed(topic: str, commit: str) -> bool:
    """Return whether checks, reference or incorrect versions of a topic differ from this commit."""
    if not is_commit(commit):
        return True
    checks = [path for path in files(topic) if path.parent.name in ("checks", "helpers", "hidden") and path.suffix == ".py"]
    if any(means_otherwise(path, commit) for path in [*checks, Path("solutions", f"{topic}.py")]):
        return True
    before = specimens_at(commit, topic)
    wrong = {each.file: each.text.rstrip() for each in find_specimens(SPECIMENS, [topic]) if not each.right}
    return wrong != {file: text for file, text in before.items() if file.startswith("wrong_")}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the generated files.")
    parser.add_argument("--tables", choices=("changed", "all", "none"), default="changed", help="of known mistakes")
    parser.add_argument("--check", action="store_true", help="fail if a generated file is out of date")
    asked = parser.parse_args()
    before = contents()
    for topic in changed_tables() if asked.tables == "changed" else known_topics() if asked.tables == "all" else ():
        recognisable, to_review = learn(topic, in_a_notebook(topic))
        apart, claims = counted(recognisable, "mistake"), counted(to_review, "claim")
        print(f"{topic}: {apart} can be distinguished; {claims} to review in specimens/{topic}/causes.json")
    for names, write in PAGES.items():
        write()
        print(f"written: {names}")
    if asked.check and (changed := [name for name, content in contents().items() if before.get(name) != content]):
        raise SystemExit(f"These generated files were out of date and have been rewritten; commit them: {', '.join(changed)}")


def contents() -> dict[str, bytes]:
    """Return {path from the root: content} of the files that PAGES writes."""
    patterns = [pattern for names in PAGES for pattern in names.split(", ")]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))}


if __name__ == "__main__":
    main()

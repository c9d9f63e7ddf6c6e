"""`make generate` writes the files in git that are made from others, and CI fails where that changes one."""

import sys
from pathlib import Path

import pytest

from autograder import generate
from autograder.base.course_table import known_topics
from autograder.certification import certify_changed
from autograder.certification.certify_changed import commits_of, is_commit
from autograder.lessons import syllabus


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """One generated page in place of all."""
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "PAGES", {"docs/a.md, docs/b*.md": lambda: (tmp_path / "docs" / "a.md").write_text("as it is made")})
    return tmp_path / "docs" / "a.md"


def run(monkeypatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["generate", "--tables", "none", *arguments])
    generate.main()


@pytest.mark.parametrize("before", ["stale", None])
def test_a_stale_or_missing_file_is_written_and_the_check_names_it(quick, before, monkeypatch):
    if before:
        quick.write_text(before)
    with pytest.raises(SystemExit, match=r"docs/a\.md"):
        run(monkeypatch, "--check")
    assert quick.read_text() == "as it is made"
    run(monkeypatch, "--check")


def test_without_the_check_it_only_writes(quick, monkeypatch):
    quick.write_text("stale")
    run(monkeypatch)
    assert quick.read_text() == "as it is made"


def test_every_generated_file_of_the_course_is_watched():
    found = set(generate.contents())
    assert {"README.md", "docs/attacks.md", "docs/certification.md", "docs/mutants.md", "docs/cheat_sheet.md", "docs/numbers.md"} <= found
    assert {f"course/{day.slug}/{day.slug}.ipynb" for day in syllabus() if day.ready} <= found
    assert {"course/start_here.ipynb", "course/capstone/capstone.ipynb"} <= found


SOME = ("softmax", "costs", "paging", "continuous_batching")


@pytest.mark.parametrize(
    ("changed", "topics"),
    [
        ("autograder/checking/helpers/paged.py", ["paging", "continuous_batching"]),
        ("autograder/checking/hidden/test_paging.py", ["paging"]),
        ("solutions/softmax.py", ["softmax"]),
        ("autograder/sandbox/measure/timing.py", []),
        ("course/day01_softmax/lesson.md", []),
    ],
)
def test_tables_are_made_for_topics_whose_checks_or_reference_have_changed(changed, topics, monkeypatch):
    monkeypatch.setattr(generate, "is_commit", lambda name: True)
    monkeypatch.setattr(generate, "means_otherwise", lambda path, commit: path == Path(changed))
    monkeypatch.setattr(generate, "known_topics", lambda: SOME)
    versions = {topic: wrong_versions(topic) for topic in SOME}
    monkeypatch.setattr(generate, "specimens_at", lambda commit, topic: versions[topic])
    found = generate.changed_tables()
    assert set(topics) <= set(found)
    assert bool(found) == bool(topics)
    versions["costs"] = dict(list(versions["costs"].items())[1:])
    assert "costs" in generate.changed_tables()


def wrong_versions(topic: str) -> dict[str, str]:
    found = generate.find_specimens(generate.SPECIMENS, [topic])
    return {each.file: each.text.rstrip() for each in found if not each.right} | {"right_a.py": "another"}


def test_tables_of_an_unknown_release_are_all_made(monkeypatch):
    monkeypatch.setattr(generate, "commits_of", lambda figures: {})
    assert generate.changed_tables() == list(known_topics())
    assert not is_commit("")
    assert commits_of(certify_changed.FIGURES)

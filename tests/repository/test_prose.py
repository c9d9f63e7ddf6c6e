"""Words and sentence forms that the course's prose does not use, each with the remedy: in docs, lessons, docstrings and messages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "course/start_here.md", "course/capstone/capstone.md", "docs/site/index.md")
GLOBS = ("docs/*.md", "course/*/lesson.md")
PACKAGES = ("autograder", "course", "solutions", "benchmarks")
GENERATED = {"attacks.md", "certification.md", "cheat_sheet.md", "mutants.md", "numbers.md"}
NOUNS = "time|day|number|integer|digit|list|tensor|text|data|function|notebook|submission|gradebook|database|rule|zip|file"
OPENING = r"(?:^|(?<=[.!?] ))"

# pattern, remedy, a sentence in which it is found, whether lessons are searched too
RULES = [
    (r"\banew\b", "again, or rerun, reload, regenerate", "The cache is built anew.", True),
    (r"(?i)\b(?:not )?as due\b", "as expected", "NOT AS DUE", True),
    (r"(?i)\bmend(?:s|ed|ing)?\b", "fix", "Mend that and run it again.", True),
    (r"(?i)\bdear(?:er|est)\b|\b(?:is|are|too|as) dear\b", "expensive", "A step is dearer than a token.", True),
    (r"(?i)\bwhoever\b", "a noun: the caller, the client, the student", "It is closed for whoever comes late.", True),
    (r"(?i)\bstand-ins?\b", "emulator, proxy, simulated machine", "It runs on a stand-in for CUDA.", True),
    (r"\blaws? of (?!large)", "distribution", "Both have the law of the model.", True),
    (rf"(?<!here )\bis no (?:{NOUNS})\b", "is not a, is not a valid", "'soon' is no time", False),
    (r"(?i)\b(?:at|on) the desk\b", "in the notebook, in the workspace", "The same check runs at the desk.", True),
    (r"\bheld against\b", "compared with, checked with", "A function is held against its checks.", False),
    (r"\b(?:1|one|sum|logits?|score) less the\b", "minus the", "It is 1 less the overlap.", True),
    (r"\bcannot be had\b", "cannot be used, cannot be reached", "The port cannot be had.", False),
    (r"\bstands? behind\b|\bcomes? behind\b|\bbehind it stands?\b", "after", "EOS stands behind EOS.", False),
    (rf"{OPENING}Who(?:m|se)?\b(?!')[^?]*?\.(?: |$)", "a noun as the subject", "Who comes then is refused.", True),
    (rf"{OPENING}(?:What|Whether|Of what)\b(?!')[^?]*?[.:](?: |$)", "a noun as the subject", "What is old was written.", False),
]


def faults(line: str, *, lesson: bool = False) -> list[str]:
    """The words of a line that are not used, each with its remedy; code in backticks does not count."""
    line = re.sub(r"`[^`]*`", "``", line)
    found = [(re.search(pattern, line), remedy) for pattern, remedy, _, in_lessons in RULES if in_lessons or not lesson]
    return [f"{match[0]!r}: write {remedy}" for match, remedy in found if match]


def pages(root: Path) -> Iterator[tuple[Path, int, str]]:
    """Lines of the pages written by hand, without indents and list markers; code blocks are left out."""
    for path in [root / page for page in PAGES] + [path for found in GLOBS for path in sorted(root.glob(found))]:
        if path.name in GENERATED or not path.exists():
            continue
        fenced = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            fenced ^= line.lstrip().startswith("```")
            if not fenced:
                yield path, number, re.sub(r"^(?:-|\d+\.) ", "", line.strip())


def strings(root: Path) -> Iterator[tuple[Path, int, str]]:
    """Docstrings of the packages, and their longer string literals: their messages."""
    for package in PACKAGES:
        for path in sorted(root.joinpath(package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                    continue
                if id(node) in alone or node.value.count(" ") > 1:
                    for number, line in enumerate(node.value.split("\n"), start=node.lineno):
                        yield path, number, line.strip()


def faulty(root: Path) -> list[str]:
    found = []
    for path, number, line in (*pages(root), *strings(root)):
        found += [f"{path.relative_to(root)}:{number}: {fault}" for fault in faults(line, lesson=path.name == "lesson.md")]
    return found


def test_prose_uses_plain_modern_english():
    found = faulty(ROOT)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("pattern", "remedy", "sentence"), [rule[:3] for rule in RULES])
def test_each_rule_finds_its_sentence(pattern, remedy, sentence):
    assert any(fault.endswith(remedy) for fault in faults(sentence)), pattern


@pytest.mark.parametrize(
    "sentence",
    ["Whose clock is it?", "There is no time for that.", "We recommend it.", "By Little's law it waits.", "The law of large numbers.",
     "`anew` is a name.", "Five less than the others.", "Who's there.", "The whole course."],
)  # fmt: skip
def test_other_sentences_pass(sentence):
    assert faults(sentence) == []


def test_a_planted_sentence_is_named_with_file_and_line(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page\n\nFine.\n```text\nbuilt anew\n```\nIt is built anew.\n")
    (tmp_path / "CHANGELOG.md").write_text("- It is fixed.\n  What is old was written.\n")
    (tmp_path / "course" / "day01").mkdir(parents=True)
    (tmp_path / "course" / "day01" / "lesson.md").write_text("What is new is the order.\nThen mend the line.\n")
    (tmp_path / "autograder").mkdir()
    (tmp_path / "autograder" / "part.py").write_text('"""A part.\n\nWhat is kept.\n"""\nraise ValueError(f"{x!r} is no time: give one")\n')
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "part.py").write_text('raise ValueError("the port cannot be had")\n')
    lines = [":".join(fault.split(":")[:2]) for fault in faulty(tmp_path)]
    assert lines == [
        "CHANGELOG.md:2", "docs/page.md:7", "course/day01/lesson.md:2",
        "autograder/part.py:3", "autograder/part.py:5", "solutions/part.py:1",
    ]  # fmt: skip

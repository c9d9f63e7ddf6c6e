"""Similarity: what two have in common beyond the task is found, whatever its names and order; what the task makes alike is not."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.cli import app
from autograder.gradebook.reports import similar_page, similarity
from autograder.gradebook.reports.similarity import WINDOW, Found, K, alike
from autograder.grading.tasks import find_tasks
from autograder.lessons import find_day, release_notebook_path
from autograder.lessons.marks import definitions, source_of
from autograder.sandbox.submission import Cell

DAY = find_day("samplers")
NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.UTC)

# An answer that is nobody's but its author's, in three cells.
OWN = {
    "top_k_probs": '''def top_k_probs(logits, k):
    """Mine."""
    if not isinstance(k, int) or k <= 0:
        raise ValueError(f"k = {k}")
    wanted = min(k, logits.shape[-1])
    ranks = torch.argsort(torch.argsort(logits, dim=-1, descending=True, stable=True), dim=-1, stable=True)
    shut = torch.full_like(logits, float("-inf"))
    opened = torch.where(ranks < wanted, logits, shut)
    return softmax(opened)''',
    "draw": '''def draw(probs, generator=None):
    rows = probs.reshape(-1, probs.shape[-1]).double()
    height = rows.cumsum(-1)
    dart = torch.rand(rows.shape[0], 1, generator=generator, dtype=height.dtype) * height[:, -1:]
    beyond = (height <= dart).long().sum(-1)
    last = (rows > 0).long() * torch.arange(rows.shape[-1])
    return torch.minimum(beyond, last.amax(-1)).reshape(probs.shape[:-1])''',
    "greedy_sample": '''def greedy_sample(logits):
    best, found = float("-inf"), 0
    for place, score in enumerate(logits.tolist()):
        if score > best:  # the first of equals
            best, found = score, place
    return torch.tensor(found)''',
}
NEW_NAMES = {
    "k": "how_many", "wanted": "n", "ranks": "order", "shut": "closed", "opened": "masked", "rows": "flat", "height": "acc", "dart": "u",
    "beyond": "idx", "last": "tail", "best": "top", "found": "at", "place": "i", "score": "value", "logits": "scores", "probs": "p",
}  # fmt: skip


def notebook(answers: dict[str, str]) -> dict[str, Any]:
    """The released notebook with these answers in their cells."""
    found = json.loads(release_notebook_path(DAY).read_text(encoding="utf-8"))
    for cell in found["cells"]:
        name = cell["id"].removeprefix("exercise-")
        if cell["id"].startswith("exercise-") and name in answers:
            cell["source"] = answers[name]
    return found


def renamed(source: str) -> str:
    """Every name another, every comment gone, and laid out differently."""
    for old, new in NEW_NAMES.items():
        source = re.sub(rf"\b{old}\b", new, source)
    return re.sub(r"  #.*", "", source).replace("    ", "  ").replace(", ", " , ")


def disguised() -> dict[str, Any]:
    """OWN by a copier: renamed, and with the exercises' cells in reverse order."""
    found = notebook({name: renamed(source) for name, source in OWN.items()})
    places = [n for n, cell in enumerate(found["cells"]) if cell["id"].startswith("exercise-")]
    cells = [found["cells"][n] for n in reversed(places)]
    for place, cell in zip(places, cells, strict=True):
        found["cells"][place] = cell
    return found


def two_alike() -> dict[str, dict[str, Any]]:
    return {"ada": notebook(OWN), "eve": disguised()}


def course_answers() -> dict[str, str]:
    source = DAY.solutions_path.read_text(encoding="utf-8")
    return {name: source_of(source, node) for name, node in definitions(source).items()}


def hand_in(root: Path, **files: dict[str, Any] | bytes) -> Path:
    submitted = root / "submitted"
    submitted.mkdir(exist_ok=True)
    for student, content in files.items():
        path = submitted / student / DAY.slug / f"{DAY.slug}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return submitted


def found(root: Path, **files: dict[str, Any] | bytes) -> Found:
    return alike(DAY, find_tasks(hand_in(root, **files), [DAY]))


def names(result: Found) -> list[tuple[str, str]]:
    return [(pair.first.student, pair.second.student) for pair in result.pairs]


def right_versions() -> dict[str, list[str]]:
    """{exercise: the right versions that the course is certified with}, each written otherwise than the others."""
    versions: dict[str, list[str]] = {}
    for each in find_specimens(SPECIMENS, [DAY.topic]):
        if each.right:
            versions.setdefault(each.path.stem, []).append(each.text)
    return versions


def test_a_copy_with_other_names_and_the_cells_in_another_order_is_found(tmp_path):
    result = found(tmp_path, ada=notebook(OWN), eve=disguised(), bob=notebook(course_answers()))
    assert names(result) == [("ada", "eve")]
    (pair,) = result.pairs
    assert pair.first.tokens > 0.8 * pair.first.own
    assert {unit.name for unit, _ in pair.second.cells} == set(OWN)


def test_two_right_answers_of_three_lines_are_not(tmp_path, monkeypatch):
    # The same idea in the same three lines, but for its names, and none of the course's: what else would one write?
    first = """def temperature_probs(logits, temperature):
    scaled = logits.double().div(temperature)
    lifted = scaled.sub(scaled.amax(-1, True)).exp2().pow(1.0).cumsum(-1)
    return lifted.type_as(logits)"""
    second = first.replace("scaled", "x").replace("lifted", "probs")
    works = {"ada": notebook({"temperature_probs": first}), "bob": notebook({"temperature_probs": second})}
    assert found(tmp_path, **works).pairs == ()
    monkeypatch.setattr(similarity, "MIN_TOKENS", 20)
    monkeypatch.setattr(similarity, "MIN_FINGERPRINTS", 1)
    assert names(alike(DAY, find_tasks(tmp_path / "submitted", [DAY]))) == [("ada", "bob")]


def test_what_is_alike_in_the_released_notebook_only_is_not(tmp_path):
    # Both have pasted a demo cell into a cell of their own, and left every stub as it was.
    pasted = max((cell for name, cell in similarity.released_cells(DAY).items() if name.startswith("demo")), key=lambda c: len(c.source))
    work = notebook({})
    work["cells"].append({"cell_type": "code", "id": "mine", "metadata": {}, "source": pasted.source + "\nprint(1)", "outputs": []})
    assert len(similarity.read("", [Cell("mine", pasted.source)]).units[0].tokens) > similarity.MIN_TOKENS
    assert found(tmp_path, ada=work, bob=work).pairs == ()


def test_what_is_alike_in_the_courses_answer_only_is_not(tmp_path):
    answers = course_answers()
    assert found(tmp_path, ada=notebook(answers), bob=notebook({name: renamed(source) for name, source in answers.items()})).pairs == ()


def test_a_right_version_that_the_course_knows_is_not_evidence(tmp_path):
    work = notebook({exercise: versions[-1] for exercise, versions in right_versions().items()})
    assert found(tmp_path, ada=work, bob=work).pairs == ()


def test_what_a_large_part_of_the_class_has_is_not_evidence_and_a_small_group_is(tmp_path):
    group = {f"g{n}": notebook(OWN) for n in range(similarity.LEAST_COMMON)}
    result = found(tmp_path, **group)
    assert len(result.pairs) == similarity.LEAST_COMMON * (similarity.LEAST_COMMON - 1) // 2
    more = alike(DAY, find_tasks(hand_in(tmp_path, one_more=notebook(OWN)), [DAY]))
    assert more.pairs == ()
    assert more.common == similarity.LEAST_COMMON


def test_the_share_that_is_common_is_what_the_command_says(tmp_path):
    hand_in(tmp_path, **{f"s{n:02d}": notebook({}) for n in range(14)}, **{f"g{n}": notebook(OWN) for n in range(6)})
    tasks = list(find_tasks(tmp_path / "submitted", [DAY]))
    assert alike(DAY, tasks, share=0.1).pairs == ()
    assert len(alike(DAY, tasks, share=0.3).pairs) == 15


def test_right_versions_written_apart_are_seldom_alike():
    """Of each exercise two right versions, with only the released code and the course's answer taken out."""
    base = similarity.read("", similarity.released_cells(DAY).values()).grams
    base |= similarity.read("", [Cell("", DAY.solutions_path.read_text(encoding="utf-8"))]).grams
    pairs = found_pairs = 0
    for versions in right_versions().values():
        works = [similarity.read(str(number), [Cell("a", text)]) for number, text in enumerate(versions)]
        pairs += len(list(itertools.combinations(works, 2)))
        found_pairs += len(similarity.pairs(works, frozenset(base), common=len(works)))
    assert pairs > 100
    assert found_pairs <= 0.02 * pairs


# Bad input, and little of it


def each_line(source: str, before: str = "", after: str = "") -> str:
    """A function with something before and after each of its statements of one line."""

    def changed(line: str) -> str:
        room = line[: len(line) - len(line.lstrip())]
        plain = room and line.strip() and not line.rstrip().endswith(":") and '"""' not in line
        return (f"{room}{before}\n" if before else "") + line + after if plain else line

    return "\n".join(map(changed, source.splitlines()))


def bracketed(source: str, times: int) -> str:
    """What is returned or named, in so many brackets."""
    return re.sub(r"(= |return )(.+)$", rf"\1{'(' * times}\2{')' * times}", source, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "disguise",
    [
        lambda source: each_line(source, after="; 0"),
        lambda source: each_line(source, after="; 'nothing'"),
        lambda source: each_line(source, before="pass"),
        lambda source: each_line(source, before="..."),
        lambda source: bracketed(source, 2),
        lambda source: f"exec({source!r})",
        lambda source: f"%%time\n{source}",
    ],
    ids=["; 0", "; text", "pass", "...", "brackets", "exec", "magic"],
)
def test_a_copy_with_what_does_nothing_between_its_lines_is_found(tmp_path, disguise):
    copies = {name: disguise(source) for name, source in OWN.items()}
    mine = {name: bracketed(source, 1) for name, source in OWN.items()} if "((" in copies["draw"] else OWN
    assert names(found(tmp_path, ada=notebook(mine), bob=notebook(copies))) == [("ada", "bob")]


@pytest.mark.parametrize("call", ["exec(base64.b64decode(b'eA=='))", "eval('so' + 'ftmax')", "get_ipython().run_cell(text)"])
def test_a_text_that_is_made_and_then_run_is_named(tmp_path, call):
    result = found(tmp_path, ada=notebook({**OWN, "draw": f"import base64\n{call}\n"}), bob=notebook(OWN))
    assert result.left_out == ("ada: draw runs a string as code in line 2; that code is not compared: read it yourself",)


def test_calls_of_the_same_names_on_objects_are_none_of_it():
    work = similarity.read("ada", [Cell("c", "model.eval()\nre.compile(pattern)\ncursor.execute(query)\n")])
    assert work.left_out == ()


def test_what_cannot_be_read_is_named_and_the_others_are_compared(tmp_path):
    torn = notebook({**OWN, "draw": "def draw(probs:\n    return ("})
    result = found(tmp_path, ada=notebook(OWN), cut=b'{"cells": [', eve=torn, none=b"")
    assert names(result) == [("ada", "eve")]
    assert [line.split(":")[0] for line in result.left_out] == ["cut", "eve", "none"]
    assert "draw is left out: it does not parse" in result.left_out[1]


DEEP = ("(" * 5000, "-" * 50_000 + "1", "a" + ".a" * 50_000, "x = " + "[" * 150 + "]" * 150)


@pytest.mark.parametrize("source", [*DEEP, "\0", "if x:\n\ty\n  z"])
def test_what_no_parser_takes_is_one_line(source):
    work = similarity.read("eve", [Cell("draw", source), Cell("other", "x = 1")])
    assert len(work.units) + len(work.left_out) == 2
    assert [unit.name for unit in work.units][-1] == "other"


def test_magics_are_passed_over():
    with_magic, without = (similarity.read("", [Cell("a", text)]) for text in ("%timeit f(1)\n!ls\nx = g(1, 2)", "\n\nx = g(1, 2)"))
    assert with_magic.units[0].tokens == without.units[0].tokens
    assert with_magic.units[0].lines == without.units[0].lines
    assert not with_magic.left_out


def test_nobody_and_one(tmp_path):
    assert alike(DAY, []) == Found((), 0, similarity.LEAST_COMMON, ())
    assert found(tmp_path, ada=notebook(OWN)).pairs == ()


# The method


def test_a_run_of_tokens_that_two_share_is_found_wherever_it_stands():
    rng = random.Random(0)

    def tokens(n: int) -> list[str]:
        return [f"t{rng.randrange(10**6)}" for _ in range(n)]

    for _ in range(200):
        run = tokens(K + WINDOW - 1)
        one, other = (similarity.hashed([*tokens(rng.randrange(40)), *run, *tokens(rng.randrange(40))]) for _ in range(2))
        assert similarity.winnowed(one) & similarity.winnowed(other)


def test_a_hash_is_of_its_own_tokens_alone():
    tokens = [str(n % 7) for n in range(40)]
    rolled = similarity.hashed(tokens)
    assert list(rolled) == [similarity.hashed(tokens[start : start + K])[0] for start in range(len(tokens) - K + 1)]
    assert len(similarity.hashed(tokens[: K - 1])) == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("y = a.exp()", "zeta = b.exp()", False),  # a and b are not the cell's own
        ("y = 1\nz = y.exp()", "q = 1\nr = q.exp()", True),
        ("y = x.exp()", "y = x.log()", False),
        ("y = f(dim=-1)", "y = f(axis=-1)", False),
        ("dim = 2\ny = f(dim=-1)", "d = 2\ny = f(dim=-1)", True),
        ("y = 1.0", "y = 1", True),
        ("y = 1.5", "y = 1", False),
        ("y = 'a'  # note", "y = 'b'", True),
        ("def f(a):\n    'what it does'\n    return a", "def g(b):\n        return b", True),
        ("class A:\n    def m(self): self.x = 1", "class B:\n    def n(me): me.y = 1", True),
    ],
)
def test_what_counts_as_the_same(one, other, same):
    first, second = (similarity.read("", [Cell("a", text)]).units[0].tokens for text in (one, other))
    assert (first == second) is same


def test_the_same_class_gives_the_same_pairs_in_every_process(tmp_path):
    assert similarity.hashed(["a"] * K)[0] == sum(similarity.code_of("a") * similarity.BASE**n for n in range(K)) % similarity.MODULUS


# The page and the command


def page(result: Found) -> BeautifulSoup:
    return BeautifulSoup(similar_page.html(DAY, result, NOW), "html.parser")


def test_the_evidence_stands_side_by_side_and_is_text(tmp_path):
    marked = {**OWN, "greedy_sample": OWN["greedy_sample"] + "\n# <script>alert(1)</script>"}
    soup = page(found(tmp_path, ada=notebook(marked), eve=disguised()))
    assert soup.find("script") is None
    assert "<script>alert(1)</script>" in soup.get_text()
    sides = soup.find(class_="two").find_all("div", recursive=False)
    assert [side.h4.get_text() for side in sides] == ["ada", "eve"]
    for side, word in zip(sides, ("height", "acc"), strict=True):
        assert any(word in mark.get_text() for mark in side.find_all("mark"))
    assert "not a verdict" in soup.get_text()


def test_the_page_needs_no_network_and_has_its_landmarks(tmp_path):
    html = similar_page.html(DAY, found(tmp_path, **two_alike()), NOW)
    assert "http" not in html
    soup = BeautifulSoup(html, "html.parser")
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(soup.find_all(landmark)) == 1, landmark
    levels = [int(h.name[1]) for h in soup.find_all(re.compile("^h[1-6]$"))]
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    labels = [region["aria-label"] for region in soup.find_all(role="region")]
    assert len(labels) == len(set(labels))


def test_the_table_has_every_pair(tmp_path):
    result = found(tmp_path, **two_alike())
    (row,) = csv.DictReader(io.StringIO(similar_page.similar_csv(DAY, result).decode()))
    assert (row["day"], row["first"], row["second"]) == (DAY.slug, "ada", "eve")
    assert int(row["tokens_first"]) == result.pairs[0].first.tokens


def test_the_command_writes_both_and_says_who_is_left_out(tmp_path):
    submitted = hand_in(tmp_path, ada=notebook(OWN), cut=b"{", eve=disguised())
    done = CliRunner().invoke(app, ["similar", DAY.slug, "--submitted", str(submitted)])
    assert done.exit_code == 0, done.output
    assert "left out: cut: " in done.stderr
    assert f"{DAY.slug}: 2 submissions, 1 pair for a person to look at" in done.stdout
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == [f"similar_{DAY.slug}.csv", f"similar_{DAY.slug}.html"]


def test_no_submission_is_one_line(tmp_path):
    (tmp_path / "submitted").mkdir()
    done = CliRunner().invoke(app, ["similar", DAY.slug, "--submitted", str(tmp_path / "submitted")])
    assert "no submission under" in str(done.exception)

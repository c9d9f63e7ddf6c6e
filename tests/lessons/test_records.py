"""The records of Days 12 to 18: what is stored and shown, and that each day's cell gives the lesson's number, and can be beaten."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from autograder import student
from autograder.base.course_table import solution_source
from autograder.lessons import find_day, lesson
from autograder.notebook import records, workspace
from course.kit import load_model, paths

DAYS = range(12, 19)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    return tmp_path


def held() -> list[tuple[int, float, float]]:
    return [(each.day, each.number, each.text) for each in records.records()]


# The function


def test_the_best_result_stays(capsys: pytest.CaptureFixture[str]) -> None:
    for passes in (14, 12, 13, 12, 11):
        student.set_record(15, passes, "passes", text=14)
    assert capsys.readouterr().out.splitlines() == [
        "Day 15: 14 passes (the text: 14). Not beaten yet: the smaller number wins.",
        "Day 15: 12 passes (the text: 14). A new record: you have beaten the text.",
        "Day 15: 13 passes (the text: 14). Your record stays: 12.",
        "Day 15: 12 passes (the text: 14). Your record stays: 12.",
        "Day 15: 11 passes (the text: 14). A new record: you have beaten the text.",
    ]
    assert held() == [(15, 11, 14)]


def test_the_larger_number_wins_if_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    for share in (72.5, 83.0, 70):
        student.set_record(18, share, "% served well", text=72.5, more=True)
    said = capsys.readouterr().out
    assert "Day 18: 72.5 % served well (the text: 72.5). Not beaten yet: the larger number wins." in said
    assert "Day 18: 70 % served well (the text: 72.5). Your record stays: 83." in said
    assert held() == [(18, 83.0, 72.5)]


def test_progress_shows_them_in_the_order_of_the_days(capsys: pytest.CaptureFixture[str]) -> None:
    student.progress()
    assert "records" not in capsys.readouterr().out
    student.set_record(17, 69, "messages", text=69)
    student.set_record(13, 8253, "tokens fed", text=9117)
    capsys.readouterr()
    student.progress()
    shown = "Your records:\n  Day 13: 8,253 tokens fed (the text: 9,117)\n  Day 17: 69 messages (the text: 69), not beaten yet"
    assert capsys.readouterr().out.rstrip().endswith(shown)
    assert '<th scope="col"' in records.html(records.records())


@pytest.mark.parametrize("arguments", [
    (99, 12, "passes", 14), ("15", 12, "passes", 14), (True, 12, "passes", 14), (15, "few", "passes", 14), (15, None, "passes", 14),
    (15, True, "passes", 14), (15, -1, "passes", 14), (15, float("nan"), "passes", 14), (15, float("inf"), "passes", 14),
    (15, 12, "passes", "14"), (15, 12, "", 14), (15, 12, 7, 14),
], ids=str)  # fmt: skip
def test_bad_input_gets_one_clear_line_and_loses_nothing(arguments: Any, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    student.set_record(15, 12, "passes", text=14)
    before = (work / workspace.PROGRESS).read_bytes()
    capsys.readouterr()
    *others, text = arguments
    student.set_record(*others, text=text)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("Nothing was recorded.")
    assert (work / workspace.PROGRESS).read_bytes() == before


@pytest.mark.parametrize("damaged", ["7", '{"15": 7}', '{"15": {"day": 15}}', '{"15": {"day": 15, "number": "x", "text": 14, '
                                     '"unit": "passes", "more": false, "when": 0}}'])  # fmt: skip
def test_a_damaged_entry_is_no_obstacle_and_the_rest_of_the_file_stays(damaged: str, work: Path) -> None:
    (work / workspace.PROGRESS).write_text(f'{{"exercises": {{"softmax/softmax": 1}}, "records": {damaged}}}')
    assert held() == []
    student.set_record(15, 12, "passes", text=14)
    assert held() == [(15, 12, 14)]
    assert json.loads((work / workspace.PROGRESS).read_text())["exercises"] == {"softmax/softmax": 1}


# The lessons


def cell_of(number: int) -> str:
    (cell,) = (cell.source for cell in lesson(find_day(number)).cells if cell.role == "demo" and "set_record(" in cell.source)
    return cell


def defined(number: int, *wanted: str) -> str:
    """Return the statements of a lesson's cells that define these names, wherever they are."""
    found: dict[str, str] = {}
    for cell in lesson(find_day(number)).cells:
        for node in ast.walk(ast.parse(cell.source)) if cell.role == "demo" else ():
            targets = [*getattr(node, "targets", []), node]
            for name in {str(getattr(target, "id", getattr(target, "name", ""))) for target in targets} & {*wanted}:
                found.setdefault(name, ast.unparse(node))
    assert {*found} == {*wanted}
    return "\n".join(found[name] for name in wanted)


NEEDS: dict[int, tuple[str, ...]] = {
    14: ("H100", "workload"),
    15: ("CODE", "TASK", "BEGUN"),
    16: ("SAMPLES", "SHARED", "changed", "says"),
    17: ("shard_model", "SEVEN", "one_pass"),
}


def names_of(number: int) -> dict[str, Any]:
    """What the cell finds in a solved notebook: functions of the day in the notebook itself, and what earlier cells have defined."""
    day = find_day(number)
    names: dict[str, Any] = {}
    for source in (solution_source(day.topic), lesson(day).setup):
        exec(compile(source, f"<{day.slug}>", "exec"), names)
    names |= {"if_solved": lambda *_: True, "tiny": load_model("tiny")}
    names["smollm2"] = load_model("smollm2", missing="none") if number == 15 else None
    exec("from __future__ import annotations\n" + defined(number, *NEEDS.get(number, ())), names)
    return names


def ran(number: int, capsys: pytest.CaptureFixture[str], *edits: tuple[str, str]) -> str:
    source, names = cell_of(number), names_of(number)
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    capsys.readouterr()
    exec(compile("from __future__ import annotations\n" + source, f"<record of day {number}>", "exec"), names)
    return capsys.readouterr().out


def number_of(number: int) -> tuple[str, float]:
    """Return the number to beat, as the lesson's prose writes it, and as it is."""
    (written,) = re.findall(rf"set_record\({number}, .*\btext=([\d.]+)", cell_of(number))
    return f"{int(written):,}" if written.isdigit() else written, float(written)


@pytest.mark.parametrize("number", DAYS)
def test_each_day_has_a_cell_and_its_number_is_the_number_in_the_text(number: int) -> None:
    written, _ = number_of(number)
    prose = [cell.source for cell in lesson(find_day(number)).cells if cell.role == "text"]
    (section,) = (text for text in prose if text.startswith("## Your record"))
    said = rf"(?<![\d.,]){re.escape(written)}(?![.,]?\d)"
    assert re.search(said, section), f"Day {number}'s section does not say {written}"
    if number not in (13, 18):  # their rule is in an earlier section, and its result on these requests is here
        assert any(re.search(said, text) for text in prose if text is not section), f"no other section of Day {number} says {written}"
    assert "*Outside the points and the day's minutes ·" in section


RING = ('    raise NotImplementedError("my_all_reduce")\n', "    return the_ring(x, comm)\n")
needs_smollm2 = pytest.mark.skipif(
    not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it"
)
each_day = pytest.mark.parametrize(
    "number", [pytest.param(day, marks=[pytest.mark.slow, needs_smollm2] if day == 15 else []) for day in DAYS]
)


@each_day
def test_the_lesson_s_own_way_gives_the_number(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    said = ran(number, capsys, *([RING] if number == 17 else []))
    assert "Not beaten yet" in said, said
    _, written = number_of(number)
    assert held() == [(number, written, written)]


RENAMED = """    encode, copied, guesses = smollm2.tokenizer.encode, first_place(ids, k=3 * k), []
    pairs = [(encode(f"{before}width"), encode(f"{before}w")) for before in ("", " ", "(")]
    while copied:
        old, new = next(((old, new) for old, new in pairs if copied[: len(old)] == old), (copied[:1], copied[:1]))
        copied, guesses = copied[len(old) :], guesses + new
    return guesses[:k]
"""
IN_PAIRS = """    half = 1
    while half < comm.world:
        comm.send(comm.rank ^ half, x)
        x = x + comm.recv(comm.rank ^ half)
        half *= 2
    return x
"""
BEATEN: dict[int, tuple[float, list[tuple[str, str]]]] = {
    12: (19.0, [("my_tile = (128, 128)", "my_tile = (274, 16)")]),
    13: (8253, [("return idle[0]", "return min(idle, key=dict(zip(idle, found, strict=True)).get)")]),
    14: (4646, [("my_budget = 256", "my_budget = 300"), ("return 0.0", "return -request.max_new_tokens")]),
    15: (9, [("    return first_place(ids, k=k)\n", RENAMED)]),
    16: (0.017, [(f'"{name}_proj": (4, "32 numbers")', f'"{name}_proj": ({4 if name == "gate" else 5}, "a row")')
                 for name in ("q", "k", "v", "o", "gate", "up", "down")]),
    17: (25, [(RING[0], IN_PAIRS)]),
    18: (83.0, [("return waiting >= 7", "return waiting >= 6 or max_tokens > 80")]),
}  # fmt: skip


@each_day
def test_a_learner_can_beat_it(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    best, edits = BEATEN[number]
    said = ran(number, capsys, *edits)
    assert "you have beaten the text" in said, said
    assert held() == [(number, best, number_of(number)[1])]


EACH_TO_EACH = """    others = [(comm.rank + step) % comm.world for step in range(1, comm.world)]
    for other in others:
        comm.send(other, x)
    for other in others:
        x = x + comm.recv(other)
    return x
"""


@pytest.mark.parametrize(("number", "edit", "said"), [
    (12, ("my_tile = (128, 128)", "my_tile = (512, 16)"), "not yet: this tile needs room for 144,384 numbers"),
    (12, ("my_tile = (128, 128)", "my_tile = (300, 1)"), "none below 16"),
    (14, ("my_budget = 256", "my_budget = 31"), "at least 32"),
    (14, ("my_budget = 256", "my_budget = 10**6"), "not yet: a gap of"),
    (16, ('"q_proj": (4, ', '"q_proj": (8, '), "more than 5 bits"),
    (16, ('"q_proj": (4, ', '"q_proj": (1, '), "2 to 8 bits"),
    (16, ('    "q_proj": (4, "32 numbers"),\n', ""), "each of the seven"),
    (17, None, "not written yet"),
    (17, (RING[0], EACH_TO_EACH), "not the same bits"),
    (17, (RING[0], "    return x + 0\n"), "these are not the sums"),
    (17, (RING[0], IN_PAIRS.replace("x = x +", "x +=")), "changes what it is given"),
])  # fmt: skip
def test_a_wrong_answer_does_not_count(number: int, edit: tuple[str, str] | None, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in ran(number, capsys, *([edit] if edit else []))
    assert held() == []


def test_a_victim_that_is_no_idle_block_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="one of the idle blocks, not -1"):
        ran(13, capsys, ("return idle[0]", "return -1"))
    assert held() == []


@needs_smollm2
@pytest.mark.slow
def test_a_draft_that_guesses_more_than_k_does_not_win_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    ran(15, capsys, ("return first_place(ids, k=k)", "return first_place(ids, k=30)"))
    assert held() == [(15, 11, 11)]

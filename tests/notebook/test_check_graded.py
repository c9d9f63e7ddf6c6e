"""`autograder check DAY --graded` and `check(graded=True)`: the whole judgement on a learner's own notebook, and nothing stored."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from autograder import cli, student
from autograder.base.course_table import solution_source
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.base.verdicts import Verdict
from autograder.checking import runner
from autograder.commands import graded as command
from autograder.gradebook.books import pages
from autograder.grading.grade import Options, grade_file
from autograder.grading.tasks import Task
from autograder.lessons import find_day, lesson
from autograder.notebook import cells, graded
from autograder.sandbox.process import forkserver_pool

from ..support.submissions import SOFTMAX, Notebook, released, solved, with_cell

SAMPLERS = find_day("samplers")
HIDDEN_ONLY = {each.file: each.text for each in find_specimens(SPECIMENS, ["softmax"])}["wrong_softmax_long_rows_in_float32.py"]
"""It passes every visible check of softmax."""
ENDLESS = "def softmax(logits):\n    while True:\n        pass\n"
TELLS_ITS_INPUTS = "def softmax(logits):\n    raise ValueError(f'inputs {logits.flatten().tolist()}')\n"
CLAIMS = """
import json, os, sys
print("softmax: 21 of 21 checks pass, 4 of 4 points\\nday01_softmax: 10 of 10 points", flush=True)
print(json.dumps({"exercises": [], "points": 10.0}), flush=True)
os.write(1, b'{"points": 10.0}')
sys.stderr.write("autograder: 10 of 10 points")
def softmax(logits):
    print("softmax: 21 of 21 checks pass, 4 of 4 points", flush=True)
    os.write(1, b"day01_softmax: 10 of 10 points")
    return logits
"""
POINTS = lesson(SOFTMAX).points
FIRST = lesson(SOFTMAX).exercises[0].points
HIDDEN_FIELDS = {"hidden", "title", "outcome", "message", "cause", "same_as", "lines"}


class Done(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def report(self) -> dict:
        return dict(json.loads(self.out))

    def exercise(self, name: str) -> dict:
        return next(each for each in self.report["exercises"] if each["exercise"] == name)


Terminal = Callable[..., Done]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("COURSE_WORK", str(folder))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def terminal(work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Run `autograder` in this process, which has torch and a fork server already."""

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["autograder", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


def save(folder: Path, content: Notebook | str, day=SOFTMAX) -> Path:
    path = folder / day.slug / f"{day.slug}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_wrong_version_that_only_hidden_checks_catch(work: Path, terminal: Terminal):
    save(work, solved(softmax=HIDDEN_ONLY))
    seen = terminal("check", "day01")
    assert seen.status == 0, seen
    done = terminal("check", "day01", "--graded", "--json")
    assert done.status == 1
    found = done.exercise("softmax")
    assert all(check["outcome"] == "pass" for check in found["checks"] if not check["hidden"])
    lost = [check for check in found["checks"] if check["hidden"] and check["outcome"] != "pass"]
    assert lost
    assert 0 < found["points"] < found["max_points"] == FIRST
    assert done.report["points"] == pytest.approx(POINTS - FIRST + found["points"])
    text = terminal("check", "day01", "--graded", "--seed", str(done.report["seed"]))
    assert text.status == 1
    assert re.search(rf"^  fail +{re.escape(lost[0]['title'])} \(hidden\)$", text.out, re.MULTILINE)
    assert "expected" not in text.out
    assert "  got" not in text.out


def test_of_a_hidden_check_the_report_has_what_feedback_shows(work: Path, terminal: Terminal):
    wrong = "def softmax(logits):\n    return torch.softmax(logits, dim=0)\n"
    path = save(work, solved(softmax=wrong, entropy="def entropy(probs):\n    return probs[99]\n"))
    done = terminal("check", str(path), "--graded", "--json", "--seed", "7")
    record = grade_file(Task("ada", SOFTMAX, path), Options(seed=7))
    assert any(v.hidden and v.expected is not None for v in record.verdicts), "nothing that has to be left out"
    for each in done.report["exercises"]:
        verdicts = record.exercise(each["exercise"])
        assert [check["title"] for check in each["checks"]] == [v.title for v in verdicts]
        for check, verdict in zip(each["checks"], verdicts, strict=True):
            shown = vars(pages.shown(verdict))
            assert {name: shown[name] for name in check} == check
            if verdict.hidden:
                assert check.keys() == HIDDEN_FIELDS
        table = graded.report_table({**done.report, "exercises": [each]})
        page = pages.outputs(record, each["exercise"])[0]["data"]
        of_visible = " ".join(str(value) for v in verdicts if not v.hidden for value in (v.expected, v.got))
        for verdict in (v for v in verdicts if v.hidden):
            values = [value for value in (verdict.expected, verdict.got) if value and len(value) > 12 and value not in of_visible]
            assert [value for value in values if value in repr(table) or value in table._repr_html_()] == []
            line = f"{verdict.outcome:<9} {verdict.title} (hidden)"
            assert line in repr(table)
            assert line in page["text/plain"]


def test_a_right_version_has_all_points_and_nothing_is_stored(work: Path, terminal: Terminal, tmp_path: Path):
    save(work, solved())
    before = {path: path.read_bytes() if path.is_file() else b"" for path in tmp_path.rglob("*")}
    done = terminal("check", "day01", "--graded")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].endswith("checks pass, 4 of 4 points")
    assert lines[-2] == f"{SOFTMAX.slug}: 10 of 10 points"
    assert {path: path.read_bytes() if path.is_file() else b"" for path in tmp_path.rglob("*")} == before


def test_each_run_has_inputs_of_its_own_and_its_seed_repeats_it(work: Path, terminal: Terminal):
    save(work, solved(softmax="def softmax(logits):\n    return torch.softmax(logits, dim=0)\n"))
    first = terminal("check", "day01", "--graded", "--exercise", "softmax", "--json").report
    second = terminal("check", "day01", "--graded", "--exercise", "softmax", "--json").report
    assert first["seed"] != second["seed"]
    assert [each["exercise"] for each in first["exercises"]] == ["softmax"]
    assert first["max_points"] == FIRST
    again = terminal(*first["again"].split()[1:], "--json").report
    assert again | {"seconds": 0} == first | {"seconds": 0}
    assert first["again"] == f"autograder check day01_softmax --exercise softmax --graded --seed {first['seed']}"
    last = repr(graded.report_table(first)).splitlines()[-1]
    assert last == f"Isolation level {first['isolation']}, seed {first['seed']}. To repeat these inputs: {first['again']}"


def test_what_is_not_written_is_a_line_for_each_exercise(work: Path, terminal: Terminal):
    save(work, released())
    done = terminal("check", "day01", "--graded")
    assert done.status == 1
    lines = done.out.splitlines()
    each = [f"{e.name}: not written yet, 0 of {e.points:g} points" for e in lesson(SOFTMAX).exercises]
    assert lines[: len(each)] == each
    assert lines[len(each)] == f"{SOFTMAX.slug}: 0 of 10 points"


def test_bad_input_is_one_line_and_status_2(work: Path, terminal: Terminal):
    whole = json.dumps(solved())
    torn = save(work, whole[: len(whole) // 2])
    for arguments, words in (
        (("day01", "--graded"), "is not JSON"),
        ((str(torn), "--graded", "--json"), "is not JSON"),
        (("day05", "--graded"), "no notebook at"),
        (("day05", "--graded", "--notebook", str(work)), "is not a plain file"),
        (("day99", "--graded"), "day99"),
        (("day01", "--graded", "--exercise", "softmin"), "no exercise 'softmin'"),
        (("day01", "--seed", "3"), "add --graded"),
    ):
        done = terminal("check", *arguments)
        assert (done.status, done.out) == (2, ""), arguments
        assert len(done.err.splitlines()) == 1, done.err
        assert words in done.err
    other = save(work, solved())
    assert "is the notebook of day01_softmax" in terminal("check", "day05", "--graded", "--notebook", str(other)).err
    assert terminal("check", "day01", "--graded", "--seed", "-1").status == 2
    assert terminal("check", "day01", "--graded", "--seed", "many").status == 2


@pytest.mark.slow
def test_an_endless_function_and_an_endless_cell_cost_their_own_points_only(work: Path, terminal: Terminal):
    save(work, with_cell(solved(softmax=ENDLESS), "while True:\n    pass\n"))
    done = terminal("check", "day01", "--graded", "--json")
    assert done.status == 1
    assert done.exercise("softmax")["points"] == 0
    assert {check["outcome"] for check in done.exercise("softmax")["checks"]} <= {"timeout", "error", "fail"}
    assert "timeout" in {check["outcome"] for check in done.exercise("softmax")["checks"]}
    assert done.exercise("entropy")["passed"]
    assert any("did not run to its end: timeout" in note for note in done.report["notes"])


def test_what_a_submission_prints_is_no_part_of_the_report(work: Path, terminal: Terminal):
    save(work, solved(softmax=CLAIMS))
    done = terminal("check", "day01", "--graded", "--json")
    assert done.status == 1
    assert done.exercise("softmax")["points"] < FIRST
    assert done.err == ""
    text = terminal("check", "day01", "--graded").out
    assert text.count("of 10 points") == 1
    assert "4 of 4 points" not in text


def test_an_exceptions_words_tell_no_input_of_a_hidden_check(work: Path, terminal: Terminal):
    save(work, solved(softmax=TELLS_ITS_INPUTS))
    found = terminal("check", "day01", "--graded", "--json").exercise("softmax")
    assert found["points"] == 0
    for check in found["checks"]:
        assert ("inputs [" in json.dumps(check)) is not check["hidden"]
        assert check["message"].startswith("your code raised ValueError")


def test_a_check_of_the_notebook_itself_grades_nothing_while_it_is_graded(work: Path, terminal: Terminal):
    save(work, with_cell(solved(), "from autograder.student import check\ncheck(graded=True)\n"))
    assert terminal("check", "day01", "--graded").status == 0


def test_a_copy_without_hidden_checks_says_where_they_are(work: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, capsys):
    save(work, solved())
    visible = tuple(check for check in runner.load_checks("softmax") if not check.hidden)
    for module in (runner, graded):
        monkeypatch.setattr(module, "load_checks", lambda topic: visible)
    done = terminal("check", "day01", "--graded")
    assert (done.status, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "this copy of the course has no hidden checks" in done.err
    assert "`autograder check day01_softmax --graded --notebook PATH_OF_YOUR_NOTEBOOK`" in done.err
    notebook('check("softmax", graded=True)')
    assert "this copy of the course has no hidden checks" in capsys.readouterr().out


@pytest.fixture
def level_none() -> Iterator[None]:
    forkserver_pool.want("none")
    try:
        yield
    finally:
        forkserver_pool.want("auto")


def test_the_isolation_level_is_named_and_a_weak_one_explained(work: Path, terminal: Terminal, level_none: None, monkeypatch):
    save(work, solved())
    monkeypatch.setattr(forkserver_pool.source, "refusals", {})
    monkeypatch.setattr(forkserver_pool, "refusals", {})
    done = terminal("check", "day01", "--graded")
    assert done.status == 0
    assert "Isolation level none, seed" in done.out
    assert done.err.startswith("isolation level none: your code can reach all that you can reach")
    monkeypatch.setattr(forkserver_pool, "refusals", {"namespaces": "no user namespaces"})
    assert terminal("check", "day01", "--graded").err == "isolation level none, not namespaces: no user namespaces\n"


def test_a_fault_of_the_machine_is_no_zero(work: Path, terminal: Terminal, monkeypatch):
    save(work, solved())
    from autograder.base.errors import InfrastructureFault
    from autograder.grading import grade

    def full(*ignored: object) -> None:
        raise InfrastructureFault("no space left")

    monkeypatch.setattr(grade, "start_cells", full)
    done = terminal("check", "day01", "--graded")
    assert (done.status, done.out, done.err) == (1, "", "autograder: infrastructure: no space left\n")


def test_speed_is_measured_only_where_the_exercise_asks_for_it(work: Path, monkeypatch):
    day, measured = find_day("kv_cache"), []
    timed = {check.exercise for check in runner.select(day.topic, timing=True)}
    calm = next(e.name for e in lesson(day).exercises if e.name not in timed)
    from autograder.grading import grade, timing_phase

    def one(task: Task, options: Options):
        record = grade.new_record(task, options, "none")
        record.timing_due, record.verdicts = True, [Verdict("c", calm, "t", 1.0, True, "pass")]
        return record

    monkeypatch.setattr(grade, "grade_task", one)
    monkeypatch.setattr(timing_phase, "time_task", lambda task, record, options: measured.append(task) or record)
    path = save(work, solved(day), day)
    command.judged(day, path, calm, 1)
    assert measured == []
    command.judged(day, path, sorted(timed)[0], 1)
    command.judged(day, path, None, 1)
    assert len(measured) == 2


# In a notebook


def notebook(line: str, source: str = "") -> None:
    namespace: dict = {"__name__": "notebook"}
    exec(solution_source("softmax") + source + f"\nfrom autograder.student import *\n{line}", namespace)


class Cell(NamedTuple):
    raw_cell: str
    cell_id: str


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> cells.Cells:
    listening = cells.Cells(dict)
    monkeypatch.setattr(cells, "_listening", listening)
    return listening


@pytest.mark.slow
def test_in_a_notebook_the_saved_file_is_graded(work: Path, capsys, monkeypatch):
    path = save(work, solved(softmax=HIDDEN_ONLY))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    notebook("check(softmax, graded=True)")
    out = capsys.readouterr().out
    assert out.startswith("Save the notebook first: the saved file is graded (day01_softmax.ipynb, saved at ")
    assert re.search(r"^  fail .*\(hidden\)$", out, re.MULTILINE)
    assert re.search(r"softmax: \d+ of \d+ checks pass, 3\.\d+ of 4 points", out)
    assert "entropy" not in out
    assert not (work / "progress.json").exists()


@pytest.mark.slow
def test_in_a_notebook_each_mistake_is_a_line(work: Path, capsys, monkeypatch):
    notebook("check(graded=True)")
    assert capsys.readouterr().out == (
        'Which exercise? Run the first code cell of the notebook, or name one, as in `check("softmax", graded=True)`.\n'
    )
    with monkeypatch.context() as validated:
        validated.setenv("NBGRADER_EXECUTION", "validate")
        notebook('check("softmax", graded=True)')
    assert capsys.readouterr().out == "Nothing was graded: a program is running this notebook. Run this cell by hand.\n"
    notebook('check("softmax", graded=True)')
    assert capsys.readouterr().out.startswith(f"There is no saved notebook at {work / SOFTMAX.slug}")
    whole = json.dumps(solved())
    path = save(work, whole[: len(whole) // 2])
    notebook('check("softmax", graded=True)')
    assert re.fullmatch(r"Nothing was graded: day01_softmax\.ipynb is not JSON.*\n", capsys.readouterr().out)
    notebook('check("softmin", graded=True)')
    assert "did you mean 'softmax'" in capsys.readouterr().out
    save(work, solved())
    monkeypatch.setattr(graded, "ROOT", path.parent)  # no course there
    (path.parent / "autograder").mkdir()
    (path.parent / "autograder" / "__init__.py").write_text("raise SystemExit('no course here')")
    notebook('check("softmax", graded=True)')
    assert capsys.readouterr().out == "Nothing was graded: no course here\n"


def test_a_cell_that_was_run_and_not_saved_is_named(work: Path, kernel: cells.Cells):
    path = save(work, solved())
    source = next(c["source"] for c in solved()["cells"] if c.get("id") == "exercise-softmax")
    names = {e.name for e in lesson(SOFTMAX).exercises}
    kernel.starts(Cell(source + "\n", "exercise-softmax"))
    assert re.fullmatch(
        r"day01_softmax\.ipynb is graded as saved at [\d:]+\. You have not run the saved text of `log_softmax`, `entropy` here\.",
        graded.line_on_file(path, names),
    )
    for cell in solved()["cells"]:
        if cell.get("id", "").startswith("exercise-"):
            kernel.starts(Cell(cell["source"], cell["id"]))
    assert re.fullmatch(r"day01_softmax\.ipynb is graded as saved at [\d:]+\.", graded.line_on_file(path, names))
    os.utime(path, (time.time() - 60,) * 2)
    kernel.starts(Cell("def softmax(logits):\n    return logits\n", "exercise-softmax"))
    with pytest.raises(Exception, match=rf"Nothing was graded: {path} does not have `softmax` as you last ran it\. Save there"):
        graded.line_on_file(path, names)
    os.utime(path, (time.time() + 1,) * 2)  # saved after that, with another text: the file is the newer one
    assert "You have not run the saved text of `softmax` here." in graded.line_on_file(path, names)


@pytest.mark.slow
def test_a_stopped_grading_ends_its_process(work: Path):
    path = save(work, solved(softmax=ENDLESS))
    began: list[float] = []

    def wait(seconds: float) -> None:
        began.append(seconds)
        raise KeyboardInterrupt

    assert graded.ask_grader(path, None, wait) == "Stopped: nothing was graded."
    assert began


def test_a_page_shows_the_report_as_html(work: Path, terminal: Terminal):
    save(work, solved(softmax=HIDDEN_ONLY, entropy=None))
    html = graded.report_table(terminal("check", "day01", "--graded", "--json").report)._repr_html_()
    assert html.count("<table") == 2
    assert "<p><b>entropy: not written yet, 0 of 3 points</b></p>" in html
    assert '<span style="opacity:0.7;">(hidden)</span>' in html
    assert "<script" not in html


def test_a_notebook_may_lie_anywhere(work: Path, terminal: Terminal, tmp_path: Path):
    path = save(work, solved())
    shutil.move(path, tmp_path / "my day 1.ipynb")
    done = terminal("check", str(tmp_path / "my day 1.ipynb"), "--graded", "--exercise", "entropy")
    assert done.status == 0
    assert f"autograder check '{tmp_path / 'my day 1.ipynb'}' --exercise entropy --graded --seed " in done.out


def test_the_signature_still_takes_a_name_a_function_or_nothing():
    with pytest.raises(TypeError):
        student.check("softmax", True)  # graded is named

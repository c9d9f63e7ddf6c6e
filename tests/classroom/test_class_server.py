"""A class on a class server, from the roster to the feedback, each in a browser of their own."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from tornado.web import HTTPError

from autograder.base.errors import CourseError
from autograder.commands.handing_out import make_class
from autograder.gradebook.lms.bundle import ANSWERS_ARE_LEFT_OUT
from autograder.hub import config, course, people, starting
from autograder.hub.layout import HubFolder
from autograder.lessons import ROOT, lesson
from autograder.notebook.workspace import standings

from ..support import class_server, lab
from ..support.class_server import BIN, Instructor, Student
from ..support.submissions import SOFTMAX, code, released, solved, with_cell

browser = [pytest.mark.slow, pytest.mark.browser, pytest.mark.skipif(lab.CHROMIUM is None, reason="no Chromium is installed")]

SLUG = SOFTMAX.slug
POINTS = {exercise.name: exercise.points for exercise in lesson(SOFTMAX).exercises}
CLASS = {
    "ada": "Lovelace, Ada",
    "bela": "Bartok, Bela",
    "hana": "Loop, Hana",
    "jun": "Cheat, Jun",
}
ENDLESS = "def softmax(logits):\n    while True: pass"
FORGED = "from autograder import student\nstudent.check = lambda *names: print('10 of 10 points')\n"
WORK = {
    "ada": (solved(), {"softmax", "log_softmax", "entropy"}),
    "bela": (solved(log_softmax=None), {"softmax", "entropy"}),
    "hana": (solved(softmax=ENDLESS), {"log_softmax", "entropy"}),
    "jun": (with_cell(solved(log_softmax=None, entropy=None), FORGED), {"softmax"}),
}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other accounts can pass through; pytest's own is closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="class-server-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def autograder(of_class: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command, in the class's folder, with the settings that the instructor's server has."""
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": str(HubFolder(of_class).settings("instructor"))}
    return subprocess.run([BIN / "autograder", *words], cwd=of_class, env=environment, capture_output=True, text=True, timeout=600)


def folder_of(tmp_path: Path, roster: str) -> HubFolder:
    folder = HubFolder(tmp_path / "class2026")
    for path in (folder.of_class, folder.private, folder.released):
        path.mkdir(parents=True)
    (folder.of_class / "roster.csv").write_text("id,name\n" + roster)
    return folder


def test_lab_shows_no_news_and_no_button_that_checks_nothing(tmp_path):
    """Here and in `make lab`: nbgrader's Validate knows no hidden checks and ends in tracebacks."""
    folder = folder_of(tmp_path, "ada,\n")
    starting.set_up(folder, accounts=False)
    for settings in (ROOT / "course" / "lab", folder.settings("student"), folder.settings("instructor")):
        disabled = json.loads((settings / "labconfig" / "page_config.json").read_text())["disabledExtensions"]
        assert disabled["@jupyter/nbgrader:validate-assignment"] is True
        overrides = json.loads((settings / "labconfig" / "default_setting_overrides.json").read_text())
        assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_nobody_lists_or_removes_what_others_hand_in(tmp_path):
    folder = folder_of(tmp_path, "ada,\n")
    starting.set_up(folder, accounts=False)
    assert stat.S_IMODE((folder.exchange / "course" / "inbound").stat().st_mode) == 0o3733


@pytest.mark.parametrize(
    ("roster", "message"), [("", "is empty"), ("Ada,\n", "'Ada' is not a valid login name"), ("1st,\n", "'1st' is not a valid login name")]
)
def test_a_roster_that_nobody_can_log_in_with_is_said_in_one_line(tmp_path, roster, message):
    with pytest.raises(CourseError, match=message) as raised:
        people.students(folder_of(tmp_path, roster))
    assert "\n" not in str(raised.value)


def test_a_password_is_drawn_once_and_only_the_servers_user_can_read_it(tmp_path):
    folder = folder_of(tmp_path, "ada,\nbela,\n")
    first = people.passwords(folder, ["ada"])
    both = people.passwords(folder, ["ada", "bela"])
    assert both["ada"] == first["ada"] != both["bela"]
    assert people.passwords(folder, ["ada", "bela"]) == both
    assert stat.S_IMODE(folder.accounts.stat().st_mode) == 0o600
    assert all(len(word.replace("-", "")) == people.GROUPS * people.IN_GROUP for word in both.values())


def test_nobody_gets_an_account_that_the_machine_had_before(tmp_path):
    with pytest.raises(CourseError, match="'root' of this machine does not belong to the class"):
        people.make_account(folder_of(tmp_path, "root,\n"), "root")


def test_a_home_of_a_trial_and_an_account_of_another_class_are_said_in_one_line(tmp_path, monkeypatch):
    folder = folder_of(tmp_path, "ada,\n")
    (folder.homes / "ada").mkdir(parents=True)  # this process's own, as in a trial
    with pytest.raises(CourseError, match="perhaps from a trial"):
        people.make_accounts_again(folder)
    elsewhere = types.SimpleNamespace(pw_gecos=people.OURS, pw_dir="/srv/class2025_hub/homes/ada")
    monkeypatch.setattr(people.pwd, "getpwnam", lambda _: elsewhere)
    with pytest.raises(CourseError, match="belongs to another class"):
        people.make_account(folder, "ada")


def test_what_would_fail_later_is_said_before(tmp_path, monkeypatch):
    said = []
    make_class(tmp_path)
    (tmp_path / "roster.csv").write_text("id,name\nada,\nprof,\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the server was started"))
    for folder, options in (
        (tmp_path / "elsewhere", {}),
        (tmp_path, {"host": "0.0.0.0"}),
        (tmp_path, {"accounts": True}),
        (tmp_path, {"instructor": "prof"}),
    ):
        with pytest.raises(CourseError) as raised:
            starting.start(folder, **{"host": "127.0.0.1", "port": 8000, "accounts": False, "instructor": "grace", **options})
        said.append(str(raised.value))
    for line, words in zip(said, ("not a class's folder", "without --accounts", "needs root", "is a student in the roster"), strict=True):
        assert words in line
        assert "\n" not in line


def test_students_have_the_course_up_to_the_last_day_released_and_no_answer_of_it(tmp_path):
    folder = folder_of(tmp_path, "ada,\n")
    first = course.lay_out(folder)
    assert folder.course.resolve() == first
    assert ANSWERS_ARE_LEFT_OUT in (folder.course / "solutions" / "softmax.py").read_text()
    (folder.released / "day03_attention").mkdir()
    third = course.lay_out(folder)
    assert folder.course.resolve() == third != first
    assert "def softmax" in (folder.course / "solutions" / "softmax.py").read_text()
    assert ANSWERS_ARE_LEFT_OUT not in (folder.course / "solutions" / "softmax.py").read_text()
    assert ANSWERS_ARE_LEFT_OUT in (folder.course / "solutions" / "attention.py").read_text()
    assert not (folder.course / "solutions" / "samplers.py").exists()
    assert [path.name for path in (folder.course / "autograder" / "checking" / "hidden").iterdir()] == ["__init__.py"]
    (folder.released / "day03_attention").rmdir()
    assert course.lay_out(folder) == third  # whoever fetched it works on it still
    assert first.exists()  # for whoever imports from it just now
    assert (folder.course / "datasets" / "models").is_symlink()


def test_no_server_starts_for_somebody_who_is_not_in_the_class_any_more(tmp_path):
    folder = folder_of(tmp_path, "ada,\n")
    spawner = types.SimpleNamespace(user=types.SimpleNamespace(name="ada"), environment={})
    config.prepare(spawner, folder, "prof", accounts=False)
    assert spawner.environment["COURSE_WORK"] == str(folder.homes / "ada" / "work")
    (folder.of_class / "roster.csv").write_text("id,name\nbela,\n")
    with pytest.raises(HTTPError, match="ada is not in the class"):
        config.prepare(spawner, folder, "prof", accounts=False)


@pytest.mark.slow
def test_who_is_let_in(tmp_path):
    of_class = class_server.make(tmp_path, {"ada": "Lovelace, Ada"})
    with class_server.serving(of_class) as address:
        right = class_server.password_of(of_class, "ada")
        assert not class_server.is_let_in(address, "ada", "guessed")
        assert not class_server.is_let_in(address, "ada", "")
        assert not class_server.is_let_in(address, "nobody", "a-long-password")
        assert class_server.is_let_in(address, "ada", right)
        assert class_server.is_let_in(address, "ADA", right)
        assert class_server.choose_password(address, "ada", right, "too short").startswith("Password too short")
        assert "success" in class_server.choose_password(address, "ada", right, "a-password-of-my-own")
        assert not class_server.is_let_in(address, "ada", right)
        assert class_server.is_let_in(address, "ada", "a-password-of-my-own")
        with (of_class / "roster.csv").open("a") as roster:
            roster.write("bela,,Bartok,\n")
        assert not class_server.is_let_in(address, "bela", "mine-from-now-on")  # a name does not belong to whoever comes first
        assert class_server.is_let_in(address, "bela", class_server.password_of(of_class, "bela"))
        assert class_server.log_in_status(address, "bela", "x" * 100) == 403  # more than its hash can take
        assert "too long" in class_server.choose_password(address, "ada", "a-password-of-my-own", "x" * 73)
        with (of_class / "roster.csv").open("a") as roster:
            roster.write("Zed Bad,,Z,\n")
        assert class_server.is_let_in(address, "ada", "a-password-of-my-own")  # somebody else's line is bad
        again = autograder(of_class, "hub", str(of_class), "--port", str(lab.free_port()), "--instructor", "prof")
        assert (again.returncode, "is empty" in again.stderr) == (2, False)
        (of_class / "roster.csv").write_text("id,name\nada,\nbela,\n")
        again = autograder(of_class, "hub", str(of_class), "--port", str(lab.free_port()), "--instructor", "prof")
        assert (again.returncode, "has a running server" in again.stderr) == (1, True), again.stderr
        taken = autograder(of_class, "hub", str(of_class), "--port", address.rpartition(":")[2], "--instructor", "prof")
        assert (taken.returncode, "choose another port" in taken.stderr) == (2, True), taken.stderr
        assert class_server.is_let_in(address, "ada", "a-password-of-my-own")
        (of_class / "roster.csv").write_text("id,name\nbela,\n")
        assert not class_server.is_let_in(address, "ada", "a-password-of-my-own")


class TestClass:
    pytestmark = browser

    def test_four_students_from_roster_to_feedback(self, open_folder):
        of_class = class_server.make(open_folder, CLASS)
        with class_server.serving(of_class) as address, lab.chromium() as chromium:
            prof = Instructor(chromium, address, of_class)
            assert "Success" in prof.press(SLUG, "assign")
            assert "Success" in prof.press(SLUG, "release")

            students = {}
            for name, (work, _) in WORK.items():
                student = students[name] = Student(chromium, address, of_class, name)
                student.open_assignments()
                student.press(SLUG, "Fetch", of="released")
                student.sees(SLUG, of="fetched")
                student.write(f"{SLUG}/{SLUG}.ipynb", work if name != "bela" else released())
                student.press(SLUG, "Submit", of="fetched")
                student.sees(SLUG, of="submitted")

            prof.open_formgrader()
            assert "Success" in prof.press(SLUG, "collect")
            students["bela"].write(f"{SLUG}/{SLUG}.ipynb", WORK["bela"][0])
            students["bela"].press(SLUG, "Submit", of="fetched")  # between Collect and what notes its time
            students["bela"].page.wait_for_timeout(1500)
            for again in (False, True):
                noted = autograder(of_class, "collect", "--from", "nbgrader")
                assert noted.returncode == 0, noted.stdout + noted.stderr
                output = prof.press(SLUG, "collect")
                assert output.count("Updating submission") == (not again)
                assert "No newer submission to collect: ada" in output
            prof.type_in_a_terminal("autograder due > due.txt 2>&1; touch done.txt")
            class_server.wait_until((of_class / "done.txt").exists)
            assert "due" in (of_class / "due.txt").read_text()
            done = autograder(of_class, "grade", "day01")
            assert done.returncode in (0, 1), done.stdout + done.stderr
            print(done.stdout)
            records = {path.stem: json.loads(path.read_text()) for path in (of_class / "records" / SLUG).glob("*.json")}
            assert {name: sum(score["points"] for score in record["scores"]) for name, record in records.items()} == {
                name: sum(POINTS[exercise] for exercise in right) for name, (_, right) in WORK.items()
            }

            assert "Success" in prof.press(SLUG, "generate-feedback")
            assert "Success" in prof.press(SLUG, "release-feedback")
            bela = students["bela"]
            bela.press(SLUG, "Fetch Feedback", of="submitted")
            bela.sees("View Feedback", of="submitted")
            (page,) = (HubFolder(of_class).homes / "bela" / "work" / SLUG / "feedback").rglob(f"{SLUG}.html")
            assert "log_softmax" in page.read_text(encoding="utf-8")

            prof.page.goto(f"{prof.formgrader}/manage_students")
            prof.page.get_by_text("Bartok, Bela").wait_for()
            assert not prof.page.get_by_text("None, None").count()

    def test_students_with_accounts_reach_nothing_of_each_other(self, open_folder):
        of_class = class_server.make(open_folder, {"ada": "Lovelace, Ada", "jun": "Cheat, Jun"})
        house = class_server.own_house(open_folder, of_class)
        if house is None:
            pytest.skip("needs root, and mounts of its own, to make accounts that nobody else sees")
        homes = HubFolder(of_class).homes
        with class_server.serving(of_class, "--accounts", before=house) as address, lab.chromium() as chromium:
            prof = Instructor(chromium, address, of_class)
            assert "Success" in prof.press(SLUG, "assign")
            assert "Success" in prof.press(SLUG, "release")
            ada, jun = (Student(chromium, address, of_class, name) for name in ("ada", "jun"))
            ada.open_assignments()
            ada.press(SLUG, "Fetch", of="released")
            ada.sees(SLUG, of="fetched")
            ada.write(f"{SLUG}/{SLUG}.ipynb", solved())
            ada.press(SLUG, "Submit", of="fetched")
            ada.sees(SLUG, of="submitted")
            ada.run(f"{SLUG}/{SLUG}.ipynb")
            passed = {name for name, standing in standings(homes / "ada" / "work").items() if standing.passed}
            assert passed >= {f"softmax/{name}" for name in POINTS}

            notebook = solved()
            notebook["cells"] = [code(CHEAT % {"class": str(of_class), "hub": str(HubFolder(of_class).root), "slug": SLUG})]
            jun.write("cheat.ipynb", notebook)
            jun.run("cheat.ipynb")
            found = json.loads((homes / "jun" / "work" / "found.json").read_text())
            assert found == {**dict.fromkeys(found, "PermissionError"), "who": "jun"}

            output = prof.press(SLUG, "collect")
            assert "was put there by jun" in output
            assert f"{SLUG}.ipynb: Too many levels of symbolic links" in output
            assert [path.parents[1].name for path in (of_class / "submitted").rglob("*.ipynb")] == ["ada"]
            collected = json.loads((of_class / "submitted" / "ada" / SLUG / f"{SLUG}.ipynb").read_text())
            assert "forged" not in json.dumps(collected)
        assert (of_class / "gradebook.db").stat().st_uid == of_class.stat().st_uid != os.geteuid()  # the instructor's server is the owner's
        assert "jun" not in Path("/etc/passwd").read_text()
        owner = (homes / "ada").stat().st_uid
        (open_folder / "again").mkdir()
        with (of_class / "roster.csv").open("a") as roster:
            roster.write("abe,,Lincoln,\n")
        house = class_server.own_house(open_folder / "again", of_class)
        with class_server.serving(of_class, "--accounts", before=house) as address, lab.chromium() as chromium:
            Student(chromium, address, of_class, "abe")  # a new one comes first
            Student(chromium, address, of_class, "ada").open_assignments()  # where her account is lost, her home is hers
        assert (homes / "abe").stat().st_uid not in {(homes / name).stat().st_uid for name in ("ada", "jun")}
        assert (homes / "ada").stat().st_uid == owner


CHEAT = """
import getpass, json, os, pathlib
found, folder, hub = {"who": getpass.getuser()}, pathlib.Path("%(class)s"), pathlib.Path("%(hub)s")

def attempt(what, do):
    try:
        do()
        found[what] = "done"
    except Exception as error:
        found[what] = type(error).__name__

attempt("another's notebook", lambda: next((hub / "homes/ada/work").iterdir()))
attempt("passwords", lambda: (hub / "private/accounts.csv").read_text())
attempt("sessions", lambda: list((hub / "private").iterdir()))
attempt("others' work, listed", lambda: list((hub / "exchange/course/inbound").iterdir()))
attempt("a release, changed", lambda: (hub / "exchange/course/outbound/%(slug)s/%(slug)s.ipynb").write_text("{}"))
attempt("the course", lambda: (hub / "course/x").touch())
attempt("a course of one's own", lambda: (hub / "exchange/course").rename(hub / "exchange/mine"))
attempt("an entry beside ours", lambda: (hub / "exchange/course/x").mkdir())
attempt("settings", lambda: (hub / "student/nbgrader_config.py").write_text(""))
attempt("the class", lambda: list(folder.iterdir()))
attempt("grades", lambda: (folder / "gradebook.db").read_bytes())
attempt("submissions", lambda: list((folder / "submitted").iterdir()))
inbound = hub / "exchange/course/inbound"
forged = inbound / "ada+%(slug)s+2040-01-01 00:00:00.000000 UTC+x"
forged.mkdir()
(forged / "%(slug)s.ipynb").write_text('{"forged": 1}')
(inbound / "ada+%(slug)s+yesterday").mkdir()
mine = inbound / "jun+%(slug)s+2030-01-01 00:00:00.000000 UTC+x"
mine.mkdir()
(mine / "%(slug)s.ipynb").symlink_to(folder / "gradebook.db")
os.mkfifo(mine / "pipe")
pathlib.Path("found.json").write_text(json.dumps(found))
"""

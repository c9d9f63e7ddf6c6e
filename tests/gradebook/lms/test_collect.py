"""Downloads of learning platforms: whose file it is, what is stored, what came late, and archives that mean harm."""

from __future__ import annotations

import datetime
import json
import os
import random
import stat
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.base.errors import CourseError
from autograder.cli import app
from autograder.gradebook.lms import archives, naming
from autograder.gradebook.lms.collecting import Collector, Entry, Notes
from autograder.gradebook.policy import deadlines
from autograder.gradebook.policy.roster import read_roster
from autograder.grading.tasks import find_tasks, is_student_id
from autograder.lessons import find_day, syllabus

DAY = find_day("samplers")
MONDAY = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)
TUESDAY = MONDAY + datetime.timedelta(days=1)


def notebook(text: str = "", slug: str = DAY.slug) -> bytes:
    return json.dumps({"cells": [{"cell_type": "code", "source": text}], "metadata": {"course": {"slug": slug}}}).encode()


def zipped(path: Path, files: dict[str, bytes] | list[tuple[str, bytes]], **kinds: int) -> Path:
    """A zip; kinds: {name: mode with file type}."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            entry = zipfile.ZipInfo(name, (2026, 11, 15, 9, 30, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = kinds.get(name, 0o100644) << 16
            archive.writestr(entry, content)
    return path


def collected(root: Path, source: Path, form: str = "canvas", now: datetime.datetime = MONDAY, **more) -> dict[str, list[str]]:
    """{kind of outcome: its lines}"""
    by_kind: dict[str, list[str]] = {}
    roster, given = more.pop("roster", None), more.pop("at_given", False)
    for outcome in Collector(root / "submitted", now, roster, at_given=given).collect(source, form, **more):
        by_kind.setdefault(outcome.kind, []).append(outcome.line)
    return by_kind


def submitted(root: Path) -> dict[str, bytes]:
    return {task.student: task.path.read_bytes() for task in find_tasks(root / "submitted", [DAY])}


def entry(root: Path, student: str) -> Entry:
    return Notes(root).entries[student, DAY.slug]


# Names


@pytest.mark.parametrize(
    ("name", "student", "late", "order"),
    [
        ("lovelaceada_4711_90210_day05_samplers.ipynb", "lovelaceada_4711", False, (0, 90210)),
        ("lovelaceada_LATE_4711_90210_day05_samplers.ipynb", "lovelaceada_4711", True, (0, 90210)),
        ("lovelaceada_4711_90333_day05_samplers-2.ipynb", "lovelaceada_4711", False, (2, 90333)),
        ("müllerjörg_12_34_day05_samplers.ipynb", "müllerjörg_12", False, (0, 34)),
        ("anon_12_34_day05_samplers.ipynb", "anon_12", False, (0, 34)),
        ("submissions/lovelaceada_4711_90210_x.ipynb", "lovelaceada_4711", False, (0, 90210)),
    ],
)
def test_canvas_names(name, student, late, order):
    claim = naming.canvas(name)
    assert claim is not None
    assert (claim.student, claim.late, claim.order) == (student, late, order)


@pytest.mark.parametrize(
    ("name", "student", "file"),
    [
        ("Ada Lovelace_77_assignsubmission_file_/day05_samplers.ipynb", "adalovelace_77", "day05_samplers.ipynb"),
        ("Ada Lovelace_77_assignsubmission_file/day05_samplers.ipynb", "adalovelace_77", "day05_samplers.ipynb"),
        ("Ada Lovelace_77_assignsubmission_file_day05_samplers.ipynb", "adalovelace_77", "day05_samplers.ipynb"),
        ("Jean-Luc O'Neill_8_assignsubmission_file_/sub/my.ipynb", "jean-luconeill_8", "my.ipynb"),
        ("list/Ada Lovelace_77_assignsubmission_file_/x.ipynb", "adalovelace_77", "x.ipynb"),
    ],
)
def test_moodle_names(name, student, file):
    claim = naming.moodle(name)
    assert claim is not None
    assert (claim.student, claim.filename, claim.lms_id) == (student, file, student.rsplit("_")[-1])


@pytest.mark.parametrize("name", ["Ada_77_assignsubmission_onlinetext_/onlinetext.ipynb", "day05.ipynb", "Ada Lovelace/day05.ipynb"])
def test_other_names_are_not_moodles(name):
    assert naming.moodle(name) is None


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("ada/day05_samplers/day05_samplers.ipynb", "ada"), ("ada/any.ipynb", "ada"), ("ada_day05_samplers.ipynb", "ada"),
        ("day05_samplers-ada.ipynb", "ada"), ("ada.ipynb", "ada"), (".hidden/x.ipynb", None), ("a b/x.ipynb", None),
    ],
)  # fmt: skip
def test_folder_names(name, student):
    claim = naming.folder(name)
    assert (claim and claim.student) == student


def test_the_day_is_recognised_from_the_name_then_from_the_notebook():
    assert naming.day_of("day05_samplers-1.ipynb", b"") == DAY
    assert naming.day_of("Day05_Samplers (2).ipynb", b"") == DAY
    assert naming.day_of("homework.ipynb", notebook()) == DAY
    for content in (b"", b"[]", b"{", notebook(slug="day99_other"), b"[" * 100_000):
        assert naming.day_of("homework.ipynb", content) is None


# Stored files


def test_a_canvas_zip_is_put_in_place(tmp_path):
    names = {"lovelaceada_1_10_day05_samplers.ipynb": notebook("a"), "turingalan_LATE_2_11_day05_samplers.ipynb": notebook("t")}
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", {**names, "curiemarie_3_12_essay.pdf": b"%PDF"}))
    assert submitted(tmp_path) == {"lovelaceada_1": notebook("a"), "turingalan_2": notebook("t")}
    assert lines["refused"] == ["curiemarie_3_12_essay.pdf: not a notebook (.ipynb); an archive inside an archive is not opened"]
    assert (entry(tmp_path, "turingalan_2").lms_late, entry(tmp_path, "lovelaceada_1").lms_late) == (True, False)
    assert entry(tmp_path, "turingalan_2").member_time == "2026-11-15T09:30:00"


def test_the_last_attempt_counts_and_the_others_are_kept(tmp_path):
    names = [(f"lovelaceada_1_{10 + n}_day05_samplers{s}.ipynb", notebook(str(n))) for n, s in enumerate(("", "-1", "-10", "-2"))]
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", names))
    assert submitted(tmp_path) == {"lovelaceada_1": notebook("2")}
    stored = [(tmp_path / e["kept"]).read_bytes() for e in entry(tmp_path, "lovelaceada_1").earlier]
    assert stored == [notebook("0"), notebook("1"), notebook("3")]
    assert (len(lines["new"]), len(lines["newer"])) == (1, 3)


def test_the_same_again_changes_nothing_and_keeps_the_first_time(tmp_path):
    source = zipped(tmp_path / "s.zip", {"lovelaceada_1_10_day05_samplers.ipynb": notebook()})
    collected(tmp_path, source)
    before = (tmp_path / "collected.json").read_bytes()
    assert list(collected(tmp_path, source, now=TUESDAY)) == ["same"]
    assert (tmp_path / "collected.json").read_bytes() == before
    assert not (tmp_path / "collected_earlier").exists()


def test_an_older_download_does_not_replace_a_newer_submission(tmp_path):
    old = zipped(tmp_path / "old.zip", {"a_1_10_day05_samplers.ipynb": notebook("old")})
    new = zipped(tmp_path / "new.zip", {"a_1_20_day05_samplers-1.ipynb": notebook("new")})
    collected(tmp_path, new)
    lines = collected(tmp_path, old, now=TUESDAY)
    assert list(lines) == ["older"]
    assert submitted(tmp_path) == {"a_1": notebook("new")}
    assert [(tmp_path / e["kept"]).read_bytes() for e in entry(tmp_path, "a_1").earlier] == [notebook("old")]


def test_a_file_put_there_by_hand_is_kept_before_it_is_replaced(tmp_path):
    path = tmp_path / "submitted" / "a_1" / DAY.slug / f"{DAY.slug}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"by hand")
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", {"a_1_10_day05_samplers.ipynb": notebook()}))
    assert "stored as collected_earlier/a_1/" in lines["newer"][0]
    assert [p.read_bytes() for p in (tmp_path / "collected_earlier").rglob("*.ipynb")] == [b"by hand"]


def test_moodle_with_and_without_folders_and_an_unpacked_one(tmp_path):
    one = zipped(tmp_path / "1.zip", {"Ada Lovelace_77_assignsubmission_file_/day05_samplers.ipynb": notebook("a")})
    two = zipped(tmp_path / "2.zip", {"Alan Turing_78_assignsubmission_file_day05_samplers.ipynb": notebook("t")})
    three = tmp_path / "three" / "Marie Curie_79_assignsubmission_file_"
    three.mkdir(parents=True)
    (three / "day05_samplers.ipynb").write_bytes(notebook("c"))
    for source in (one, two, three.parent):
        collected(tmp_path, source, "moodle")
    assert submitted(tmp_path) == {"adalovelace_77": notebook("a"), "alanturing_78": notebook("t"), "mariecurie_79": notebook("c")}


def test_a_roster_gives_ids_and_names_who_is_missing(tmp_path):
    (tmp_path / "roster.csv").write_text("id;lms_id;name;email\nada;1;Lovelace, Ada;ada@x.org\n", encoding="utf-8-sig")
    roster = read_roster(tmp_path / "roster.csv")
    files = {"lovelaceada_1_10_day05_samplers.ipynb": notebook(), "turingalan_2_11_day05_samplers.ipynb": notebook()}
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", files), roster=roster)
    assert list(submitted(tmp_path)) == ["ada"]
    assert lines["refused"] == ["turingalan_2_11_day05_samplers.ipynb: nobody in the roster has LMS id 2: add a line and collect again"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,email\n", "first line must name the columns"),
        ("id,lms_id\na/b,1\n", "line 2: student id 'a/b' cannot be used"),
        ("id,lms_id\nada,1\nbob,1\n", "line 3: the lms_id 1 is already in line 2"),
        ("id,lms_id\nada,1\nada,2\n", "line 3: the id ada is already in line 2"),
        ("id,lms_id\nada,1\nAda,2\n", "line 3: the id Ada is already in line 2, apart from upper and lower case"),
    ],
)
def test_a_damaged_roster_is_one_line(tmp_path, text, message):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(CourseError, match=message):
        read_roster(tmp_path / "r.csv")


# Archives that mean harm


def tree(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*")}


def patched(path: Path, name: str, offset: int, value: bytes) -> Path:
    """The zip with bytes of a member's entry in the table of contents replaced."""
    data = bytearray(path.read_bytes())
    at = -1
    while True:
        at = data.index(b"PK\x01\x02", at + 1)
        length = struct.unpack("<H", data[at + 28 : at + 30])[0]
        if data[at + 46 : at + 46 + length] == name.encode():
            data[at + offset : at + offset + len(value)] = value
            path.write_bytes(data)
            return path


GOOD = "good_9_9_day05_samplers.ipynb"
BAD = "bad_1_1_day05_samplers.ipynb"
HOSTILE = {
    "up": ("../../../bad_1_1_day05_samplers.ipynb", notebook(), "leads out of the archive"),
    "absolute": ("/tmp/bad_1_1_day05_samplers.ipynb", notebook(), "an absolute path"),
    "drive": ("C:/bad_1_1_day05_samplers.ipynb", notebook(), "an absolute path, or one of another system"),
    "backslash": ("..\\..\\bad_1_1_day05_samplers.ipynb", notebook(), "an absolute path, or one of another system"),
    "escape": ("bad\x1b[2J_1_1_day05_samplers.ipynb", notebook(), "control characters"),
    "long": ("b" * 400 + "_1_1_day05_samplers.ipynb", notebook(), "a name of 425 characters"),
    "nobody": ("day05_samplers.ipynb", notebook(), "cannot tell which student it belongs to"),
    "no day": ("bad_1_1_homework.ipynb", b"{}", "cannot tell which day it belongs to"),
    "bomb": (BAD, b" " * 5_000_000, "compressed to less than 1/200"),
    "big": (BAD, b" " * 45_000_000, "45 MB, more than 42"),
    "nested": ("bad_1_1_submission.zip", b"PK", "an archive inside an archive is not opened"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_member_is_one_line_and_the_others_are_collected(tmp_path, kind):
    name, content, reason = HOSTILE[kind]
    root = tmp_path / "deep" / "down" / "class"
    root.mkdir(parents=True)
    source = zipped(tmp_path / "s.zip", {name: content, GOOD: notebook()})
    before = tree(tmp_path)
    lines = collected(root, source)
    assert len(lines["refused"]) == 1
    assert reason in lines["refused"][0]
    assert lines["refused"][0].isprintable()
    assert submitted(root) == {"good_9": notebook()}
    ours = ("deep/down/class/submitted", "deep/down/class/collected")
    assert [name for name in tree(tmp_path) - before if not name.startswith(ours)] == []


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(tmp_path, mode):
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", {BAD: b"/etc/passwd", GOOD: notebook()}, **{BAD: mode | 0o644}))
    assert lines["refused"] == [f"{BAD}: a link or a device, not a plain file"]
    assert list(submitted(tmp_path)) == ["good_9"]


ENTRY = {"sha256": "0", "seen": "2026-11-16T12:00:00+00:00", "source": "canvas"}


@pytest.mark.parametrize("text", [
    "{", "[]", "[" * 100_000, '{"format": 1, "submissions": []}', '{"format": 1, "submissions": {"ada/x": 3}}',
    json.dumps({"format": 1, "submissions": {"ada/x": ENTRY | {"seen": "soon"}}}),
    json.dumps({"format": 1, "submissions": {"ada/x": ENTRY | {"seen": 5}}}), "\udcff",
])  # fmt: skip
def test_damaged_notes_of_the_collector_are_one_line(text, tmp_path):
    (tmp_path / "collected.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CourseError, match="is damaged"):
        Notes(tmp_path)


@pytest.mark.parametrize("content", [b"day,due\n\xff,2026\n", b'day,due\n"' + b"x" * 200_000 + b'",2026\n'])
def test_a_damaged_table_of_due_dates_or_of_people_is_one_line(content, tmp_path):
    (tmp_path / "due.csv").write_bytes(content)
    with pytest.raises(CourseError, match="cannot be read"):
        deadlines.due_dates(tmp_path)
    with pytest.raises(CourseError, match="cannot be read as a roster"):
        read_roster(tmp_path / "due.csv")


def test_a_time_that_no_calendar_has_stops_nobody(tmp_path, monkeypatch):
    source = tmp_path / "download"
    for name in ("ada", "bob"):
        (source / name).mkdir(parents=True)
        (source / name / f"{DAY.slug}.ipynb").write_bytes(notebook())
    stock = archives.datetime.datetime

    class Short(stock):
        """A calendar that ends before the file's time: not every disk keeps one so far ahead."""

        @classmethod
        def fromtimestamp(cls, seconds, tz=None):
            return stock.fromtimestamp(seconds + 2**50 if seconds == 4e9 else seconds, tz)

    os.utime(source / "ada" / f"{DAY.slug}.ipynb", (4e9, 4e9))
    monkeypatch.setattr(archives.datetime, "datetime", Short)
    assert len(collected(tmp_path, source, "folder")["new"]) == 2
    assert entry(tmp_path, "ada").member_time == ""


def test_links_and_pipes_in_a_folder_are_refused(tmp_path):
    (tmp_path / "secret.ipynb").write_bytes(notebook("secret"))
    source = tmp_path / "download"
    source.mkdir()
    os.symlink(tmp_path / "secret.ipynb", source / BAD)
    os.symlink(tmp_path, source / "folder")
    os.mkfifo(source / "pipe_1_1_day05_samplers.ipynb")
    (source / GOOD).write_bytes(notebook())
    lines = collected(tmp_path, source)
    assert [line.split(": ")[1] for line in lines["refused"]] == ["a link or a device, not a plain file"] * 3
    assert submitted(tmp_path) == {"good_9": notebook()}


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "submitted").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "submitted" / "bad_1")
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", {BAD: notebook(), GOOD: notebook()}))
    assert "leads through a link" in lines["refused"][0]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_name_that_stands_twice_is_refused_both_times(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        source = zipped(tmp_path / "s.zip", [(BAD, notebook("1")), (BAD, notebook("2")), (GOOD, notebook())])
    lines = collected(tmp_path, source)
    assert len(lines["refused"]) == 2
    assert list(submitted(tmp_path)) == ["good_9"]


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (8, struct.pack("<H", 1), "encrypted"),
        (10, struct.pack("<H", 99), "damaged"),  # a method of compression that nobody has
        (16, b"\0\0\0\0", "damaged"),  # the checksum
        (24, struct.pack("<I", 10), "damaged"),  # a size that is not true
    ],
    ids=["encrypted", "method", "checksum", "size"],
)
def test_damaged_and_encrypted_members_are_one_line(tmp_path, offset, value, reason):
    source = patched(zipped(tmp_path / "s.zip", {BAD: notebook("x" * 100), GOOD: notebook()}), BAD, offset, value)
    lines = collected(tmp_path, source)
    assert len(lines["refused"]) == 1
    assert reason in lines["refused"][0]
    assert list(submitted(tmp_path)) == ["good_9"]


def test_a_size_that_is_not_true_does_not_get_a_bomb_past_the_limit(tmp_path):
    """The table of contents says 1,000 bytes; the reader must not unpack the 100 MB behind it."""
    source = zipped(tmp_path / "s.zip", {BAD: b" " * 100_000_000, GOOD: notebook()})
    lines = collected(tmp_path, patched(source, BAD, 24, struct.pack("<I", 1000)))
    assert len(lines["refused"]) == 1
    assert list(submitted(tmp_path)) == ["good_9"]


def test_a_name_of_three_byte_letters_becomes_an_id_that_a_file_can_have(tmp_path):
    files = {f"{'漢' * 84}_1_10_day05_samplers.ipynb": notebook(), GOOD: notebook()}
    assert len(collected(tmp_path, zipped(tmp_path / "s.zip", files))["new"]) == 2
    [long] = set(submitted(tmp_path)) - {"good_9"}
    assert long.endswith("_1")
    assert is_student_id(long)


def test_a_file_that_cannot_be_written_is_one_line_and_the_others_keep_their_times(tmp_path):
    (tmp_path / "submitted").mkdir()
    (tmp_path / "submitted" / "bad_1").write_text("a file where the folder should be")
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", {BAD: notebook(), GOOD: notebook()}))
    assert [len(lines[kind]) for kind in ("refused", "new")] == [1, 1]
    assert "cannot be stored" in lines["refused"][0]
    assert entry(tmp_path, "good_9").seen


def test_times_are_kept_where_collecting_is_cut_short(tmp_path, monkeypatch):
    stock = Collector.put

    def cut_short(self, found, *rest):
        if found.claim.student == "good_9":
            raise KeyboardInterrupt
        return stock(self, found, *rest)

    monkeypatch.setattr(Collector, "put", cut_short)
    with pytest.raises(KeyboardInterrupt):
        collected(tmp_path, zipped(tmp_path / "s.zip", {BAD: notebook(), GOOD: notebook()}))
    assert entry(tmp_path, "bad_1").seen


def test_ids_that_differ_in_case_only_are_one_line(tmp_path):
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", {"ada/a.ipynb": notebook(), "Ada/b.ipynb": notebook()}), "folder")
    assert list(submitted(tmp_path)) == ["ada"]
    assert lines["refused"] == ["Ada/b.ipynb: some disks treat the ids Ada and ada as the same: give one student another id"]
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", {"ADA/b.ipynb": notebook()}), "folder")
    assert list(lines) == ["refused"]


@pytest.mark.slow
def test_an_archive_is_never_in_memory_as_a_whole(tmp_path):
    """Forty notebooks of 5 MB that pack well: the collector holds one of them at a time."""
    text = random.Random(0).randbytes(20_000).hex() * 125
    source = zipped(tmp_path / "s.zip", {f"s_{n}_{n}_day05_samplers.ipynb": notebook(text + str(n)) for n in range(40)})
    tracemalloc.start()
    try:
        lines = collected(tmp_path, source)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(lines["new"]) == 40
    assert most < 40 * 5_000_000 / 4


def test_an_archive_with_too_many_files_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 100)
    source = zipped(tmp_path / "s.zip", {f"s_{n}_{n}_x.ipynb": b"{}" for n in range(101)})
    with pytest.raises(CourseError, match="holds 101 files, more than 100"):
        collected(tmp_path, source)


def test_a_table_of_contents_of_many_megabytes_is_not_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        for n in range(300):
            entry = zipfile.ZipInfo(f"s_{n}_{n}_x.ipynb")
            entry.comment = b"x" * 65_000
            archive.writestr(entry, b"{}")
    with pytest.raises(CourseError, match="table of contents of 20 MB"):
        collected(tmp_path, tmp_path / "s.zip")


def test_all_notebooks_together_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", 2500)
    files = {f"s_{n}_{n}_day05_samplers.ipynb": notebook("x" * 900) for n in range(4)}
    lines = collected(tmp_path, zipped(tmp_path / "s.zip", files))
    assert len(submitted(tmp_path)) == 2
    assert all("together" in line for line in lines["refused"])


@pytest.mark.parametrize("content", [b"", b"no zip at all"], ids=["empty", "text"])
def test_what_is_no_zip_is_one_line(tmp_path, content):
    (tmp_path / "s.zip").write_bytes(content)
    with pytest.raises(CourseError, match="is not a readable zip"):
        collected(tmp_path, tmp_path / "s.zip")


def test_a_zip_that_is_cut_off_is_one_line(tmp_path):
    source = zipped(tmp_path / "s.zip", {GOOD: notebook("x" * 5000)})
    source.write_bytes(source.read_bytes()[:-30])
    with pytest.raises(CourseError, match="download it again"):
        collected(tmp_path, source)


def test_files_that_systems_leave_in_archives_are_passed_over(tmp_path):
    left = {"__MACOSX/._x": b"", ".DS_Store": b"", "a/.ipynb_checkpoints/a-checkpoint.ipynb": b"{}"}
    files = {**left, "ada/day05_samplers.ipynb": notebook()}
    assert collected(tmp_path, zipped(tmp_path / "s.zip", files), "folder") == {"new": ["ada, day05_samplers: collected"]}


# When it came


def test_the_time_of_a_download_calls_nobody_late(tmp_path):
    source = zipped(tmp_path / "s.zip", {"ada/day05_samplers.ipynb": notebook()})
    collected(tmp_path, source, "folder", now=TUESDAY)
    when = deadlines.lateness(entry(tmp_path, "ada"), MONDAY)
    assert when == deadlines.Lateness(False, unknown=datetime.timedelta(days=1))
    assert when.text == "collected 1 d 0 h after the due date; the time of submission is unknown"
    assert deadlines.lateness(entry(tmp_path, "ada"), TUESDAY) == deadlines.Lateness(False, None, "the time of collecting")
    assert deadlines.lateness(entry(tmp_path, "ada"), None) is None
    assert not list((tmp_path / "submitted").rglob("timestamp.txt"))


def test_a_time_that_a_person_gives_tells_who_is_late_also_afterwards(tmp_path):
    source = zipped(tmp_path / "s.zip", {"ada/day05_samplers.ipynb": notebook()})
    collected(tmp_path, source, "folder", now=TUESDAY + datetime.timedelta(days=5))
    assert collected(tmp_path, source, "folder", now=TUESDAY, at_given=True) == {"same": ["ada, day05_samplers: unchanged"]}
    late = deadlines.lateness(entry(tmp_path, "ada"), MONDAY)
    assert late == deadlines.Lateness(True, datetime.timedelta(days=1), "the time of collecting")
    assert late.text == "late by 1 d 0 h"
    collected(tmp_path, source, "folder", now=TUESDAY + datetime.timedelta(days=9))  # and a later download does not take it back
    assert deadlines.lateness(entry(tmp_path, "ada"), MONDAY) == late
    assert len(list((tmp_path / "submitted").rglob("timestamp.txt"))) == 1


@pytest.mark.parametrize(
    ("stamp", "want"),
    [
        ("2026-11-16 18:00:00 UTC", deadlines.Lateness(True, datetime.timedelta(hours=6), "nbgrader's timestamp")),
        ("2026-11-16 19:00:00 Europe/Berlin", deadlines.Lateness(True, datetime.timedelta(hours=6), "nbgrader's timestamp")),
        ("2026-11-16 19:00 +0100", deadlines.Lateness(True, datetime.timedelta(hours=6), "nbgrader's timestamp")),
        ("2026-11-16T18:00:00+00:00", deadlines.Lateness(True, datetime.timedelta(hours=6), "nbgrader's timestamp")),
        ("2026-11-16 18:00:00", deadlines.Lateness(True, datetime.timedelta(hours=6), "nbgrader's timestamp")),
        ("2026-11-15 18:00:00 UTC", deadlines.Lateness(False, unknown=datetime.timedelta(days=1))),  # anybody could have written it
        ("2026-11-18 18:00:00 UTC", deadlines.Lateness(False, unknown=datetime.timedelta(days=1))),  # after it was collected
        ("soon", deadlines.Lateness(False, unknown=datetime.timedelta(days=1))),
        (None, deadlines.Lateness(False, unknown=datetime.timedelta(days=1))),
    ],
)
def test_nbgraders_timestamp_is_believed_where_it_says_late(tmp_path, stamp, want):
    folder = tmp_path / "submitted" / "ada" / DAY.slug
    folder.mkdir(parents=True)
    (folder / f"{DAY.slug}.ipynb").write_bytes(notebook())
    if stamp is not None:
        (folder / "timestamp.txt").write_text(stamp)
    Collector(tmp_path / "submitted", TUESDAY).note_in_place()
    assert deadlines.lateness(entry(tmp_path, "ada"), MONDAY) == want


def test_the_platforms_word_stands_above_the_time_of_the_download(tmp_path):
    files = {"a_1_1_day05_samplers.ipynb": notebook(), "b_LATE_2_2_day05_samplers.ipynb": notebook()}
    collected(tmp_path, zipped(tmp_path / "s.zip", files), now=TUESDAY)
    assert [deadlines.lateness(entry(tmp_path, s), MONDAY).late for s in ("a_1", "b_2")] == [False, True]
    assert deadlines.lateness(entry(tmp_path, "b_2"), MONDAY).text == "late according to Canvas"


def test_a_timestamp_that_leads_elsewhere_or_contradicts_a_given_time_does_not_stay(tmp_path):
    folder = tmp_path / "submitted" / "ada" / DAY.slug
    folder.mkdir(parents=True)
    (folder / f"{DAY.slug}.ipynb").write_bytes(notebook())
    (folder / "timestamp.txt").write_text("1999-01-01 00:00:00 UTC")
    assert [o.kind for o in Collector(tmp_path / "submitted", TUESDAY, at_given=True).note_in_place()] == ["new"]
    assert (folder / "timestamp.txt").read_text() == "2026-11-17 12:00:00.000000 UTC"
    os.unlink(folder / "timestamp.txt")
    os.symlink(tmp_path / "target", folder / "timestamp.txt")
    later = TUESDAY + datetime.timedelta(days=3)
    assert [o.kind for o in Collector(tmp_path / "submitted", later).note_in_place()] == ["same"]
    assert (folder / "timestamp.txt").read_text() == "2026-11-17 12:00:00.000000 UTC"
    assert not (tmp_path / "target").exists()
    (folder / f"{DAY.slug}.ipynb").write_bytes(notebook("again"))
    assert [o.kind for o in Collector(tmp_path / "submitted", later).note_in_place()] == ["newer"]
    assert entry(tmp_path, "ada").seen_at == later


def test_no_timestamp_where_the_platform_says_in_time(tmp_path):
    files = {"a_1_1_day05_samplers.ipynb": notebook(), "b_LATE_2_2_day05_samplers.ipynb": notebook()}
    collected(tmp_path, zipped(tmp_path / "s.zip", files), now=TUESDAY)
    assert [p.parts[-3] for p in (tmp_path / "submitted").rglob("timestamp.txt")] == ["b_2"]


@pytest.mark.parametrize(
    ("text", "want"),
    [("2026-11-20T23:59+01:00", "2026-11-20T22:59:00+00:00"), ("2026-11-20 23:59Z", "2026-11-20T23:59:00+00:00")],
)
def test_times_with_a_zone(text, want):
    assert deadlines.parse_time(text).astimezone(datetime.UTC).isoformat() == want


def test_a_date_alone_means_its_end_here():
    when = deadlines.parse_time("2026-11-20")
    assert when.tzinfo is not None
    assert (when.day, when.hour, when.minute, when.second) == (20, 23, 59, 59)
    with pytest.raises(CourseError, match="'soon' is not a valid time: give"):
        deadlines.parse_time("soon")


@pytest.mark.parametrize(("seconds", "text"), [(40, "40 s"), (3599, "59 min"), (3700, "1 h 1 min"), (200_000, "2 d 7 h")])
def test_durations(seconds, text):
    assert deadlines.duration(datetime.timedelta(seconds=seconds)) == text


# The commands


def run(root: Path, *arguments: object):
    return CliRunner().invoke(app, [*map(str, arguments), "--submitted", str(root / "submitted")])


def test_collect_tells_what_was_left_out_and_exits_with_1(tmp_path):
    source = zipped(tmp_path / "s.zip", {BAD: b" " * 5_000_000, GOOD: notebook()})
    result = run(tmp_path, "collect", source, "--from", "canvas", "--at", "2026-11-16T12:00Z")
    assert result.exit_code == 1
    assert "2 files: new 1, left out 1" in result.stdout
    assert "compressed to less than 1/200" in result.output
    assert entry(tmp_path, "good_9").seen_at == MONDAY
    assert run(tmp_path, "collect", zipped(tmp_path / "t.zip", {GOOD: notebook()}), "--from", "canvas").exit_code == 0


def test_due_sets_the_date_in_the_table_and_in_the_gradebook(tmp_path):
    from nbgrader.api import Gradebook

    from autograder.gradebook.books.gradebook import enter_day

    assert run(tmp_path, "due", "day05", "2026-11-20T23:59+01:00").exit_code == 0
    assert deadlines.due_dates(tmp_path) == {DAY.slug: deadlines.parse_time("2026-11-20T22:59Z")}
    url = f"sqlite:///{tmp_path}/gradebook.db"
    enter_day(DAY, url)  # as grading does: `due` starts in no time, and makes no gradebook
    deadlines.book_due_dates(tmp_path, url, [DAY])
    with Gradebook(url) as gradebook:
        assert gradebook.find_assignment(DAY.slug).duedate == datetime.datetime(2026, 11, 20, 22, 59)
    assert "day05_samplers: 2026-11-20 23:59 +0100" in run(tmp_path, "due").stdout
    assert run(tmp_path, "due", "day05", "none").exit_code == 0
    assert deadlines.due_dates(tmp_path) == {}
    with Gradebook(url) as gradebook:
        assert gradebook.find_assignment(DAY.slug).duedate is None


def test_every_day_can_be_recognised_from_its_own_notebooks_name():
    assert {naming.day_of(f"{day.slug}.ipynb", b"") for day in syllabus()} == set(syllabus())

"""The instructor's guide, followed: every command of docs/instructor.md, in its order, in an empty folder, on a class of four."""

from __future__ import annotations

import csv
import http.cookiejar
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder.gradebook.lms.collecting import Notes
from autograder.grading.records import read_record

from ..support.guides import BIN, fences, run_block
from ..support.submissions import SOFTMAX, Notebook, cells_of, solved

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "instructor.md"
SLUG = SOFTMAX.slug
SERVER = "jupyter lab\n"
CORRECTED = 1.5

pytestmark = pytest.mark.slow


def forged() -> Notebook:
    notebook = solved(log_softmax=None, entropy=None)
    for cell in cells_of(notebook, "check"):
        cell["source"] = "1000.0"
        cell["metadata"]["nbgrader"]["points"] = 1000
        cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "1000.0"}, "metadata": {}, "execution_count": 1}]
    return notebook


def download(path: Path) -> None:
    """What Canvas gives: a right, a broken, a cheating and an endless submission, the last one handed in twice."""
    loop = "def entropy(probs):\n    while True: pass"
    files = {
        f"lovelaceada_101_9001_{SLUG}.ipynb": solved(),
        f"hoppergrace_102_9002_{SLUG}.ipynb": solved(softmax="def softmax(logits):\n    return ("),
        f"cheatmallory_LATE_103_9003_{SLUG}.ipynb": forged(),
        f"loopella_104_9004_{SLUG}.ipynb": solved(entropy=None),
        f"loopella_104_9014_{SLUG}-1.ipynb": solved(entropy=loop),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, notebook in files.items():
            archive.writestr(name, json.dumps(notebook))


class Formgrader:
    """nbgrader's formgrader, spoken to as its pages do."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path: str) -> str:
        return self.opener.open(self.address + path).read().decode()

    def correct(self, grade: str, points: float) -> None:
        token = next(c.value for c in self.cookies if c.name == "_xsrf")
        head = {"X-XSRFToken": token or "", "Content-Type": "application/json"}
        body = json.dumps({"manual_score": points, "extra_credit": None}).encode()
        request = urllib.request.Request(f"{self.address}/formgrader/api/grade/{grade}", body, head, method="PUT")
        assert self.opener.open(request).status == 200


@contextmanager
def lab(folder: Path, scratch: Path) -> Iterator[Formgrader]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ("--no-browser", f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=",
               "--ServerApp.password=", "--ServerApp.allow_root=True")  # fmt: skip
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(scratch / "config"), "JUPYTER_DATA_DIR": str(scratch / "data")}
    with (scratch / "lab.log").open("w") as log:
        server = subprocess.Popen([BIN / "jupyter", "lab", *options], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            found = Formgrader(f"http://127.0.0.1:{port}")
            while True:
                assert server.poll() is None, (scratch / "lab.log").read_text()[-3000:]
                try:
                    found.get("/lab")
                    break
                except OSError:
                    time.sleep(0.3)
            yield found
        finally:
            server.terminate()
            server.wait()


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The class's folder after the whole guide; what was printed is in `printed`, by command line."""
    start = tmp_path_factory.mktemp("term")
    folder = start / "class2026"
    scratch = tmp_path_factory.mktemp("lab")
    for number, block in enumerate(fences("instructor", "bash")):
        if block == SERVER:
            with lab(folder, scratch) as formgrader:
                look_at_ella(formgrader, scratch)
            continue
        where = folder if folder.exists() else start
        (scratch / f"printed{number}").write_text(run_block(block, where))
        if folder.exists() and not (folder / "submissions.zip").exists():
            download(folder / "submissions.zip")
    shutil.copytree(scratch, folder / "printed", ignore=shutil.ignore_patterns("config", "data"))
    return folder


def look_at_ella(formgrader: Formgrader, scratch: Path) -> None:
    submissions = json.loads(formgrader.get(f"/formgrader/api/submitted_notebooks/{SLUG}/{SLUG}"))
    ella = next(s for s in submissions if s["student"] == "ella")
    (scratch / "page.html").write_text(formgrader.get(f"/formgrader/submissions/{ella['id']}/?index=0"))
    grades = json.loads(formgrader.get(f"/formgrader/api/grades?submission_id={ella['id']}"))
    formgrader.correct(next(g["id"] for g in grades if g["name"] == "check_entropy"), CORRECTED)


def printed(term: Path, command: str) -> str:
    return next(text for path in (term / "printed").glob("printed*") if command in (text := path.read_text()).split("\n\n")[0])


def scores(term: Path) -> dict[tuple[str, str], float]:
    with (term / "exports" / "scores.csv").open(newline="") as file:
        return {(row["student"], row["exercise"]): float(row["points"]) for row in csv.DictReader(file)}


def test_every_student_has_what_is_due(term):
    got = scores(term)
    worth = {exercise: got["ada", exercise] for exercise in ("softmax", "log_softmax", "entropy")}
    assert all(worth.values())
    assert got["grace", "softmax"] == 0
    assert got["grace", "entropy"] == worth["entropy"]
    assert [got["mallory", e] for e in worth] == [worth["softmax"], 0, 0]
    assert [got["ella", e] for e in worth] == [worth["softmax"], worth["log_softmax"], CORRECTED]
    assert read_record(term / "records" / SLUG / "ella.json").status == "timed out"


def test_a_correction_made_in_formgrader_is_in_everything_after_the_regrade(term):
    with (term / "exports" / "canvas.csv").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[0][-1].endswith("(4711)")
    total = sum(scores(term)["ella", e] for e in ("softmax", "log_softmax", "entropy"))
    assert float(next(row[-1] for row in table if row[1] == "104")) == total
    page = (term / "feedback" / "ella" / SLUG / f"{SLUG}.html").read_text()
    assert f"entropy</a>: {CORRECTED} of" in page
    result = json.loads((term / "exports" / "gradescope" / SLUG / "ella" / "results.json").read_text())
    assert result["score"] == total
    assert "0 students with a changed score" in printed(term, "autograder regrade")


def test_the_grading_page_needs_no_network_and_shows_formulas_and_figures(term):
    page = (term / "printed" / "page.html").read_text()
    assert "<math" in page
    assert "data:image/svg+xml;base64," in page
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "timed out" in page


def test_the_cheat_is_late_and_ella_handed_in_twice(term):
    notes = Notes(term).entries
    assert notes["mallory", SLUG].lms_late is True
    assert [len(notes[student, SLUG].earlier) for student in ("ada", "ella")] == [0, 1]
    assert "late according to Canvas" in (term / "report" / "index.html").read_text()


def test_lateness_costs_what_the_rule_says_and_an_extension_is_one_students(term):
    got = scores(term)
    total = sum(got["mallory", e] for e in ("softmax", "log_softmax", "entropy"))
    with (term / "exports" / "canvas.csv").open(newline="") as file:
        points = {row[1]: row[-1] for row in csv.reader(file)}
    assert float(points["103"]) == pytest.approx(total * 0.9)  # Canvas says late, and not by how much: a day
    output = printed(term, "autograder due day01").splitlines()
    assert f"{SLUG}, ella: 2026-11-27 23:59" in "\n".join(output)
    assert any(line.startswith("late: 10% a day, at most 50%") for line in output)


def test_nobody_is_alike_and_the_report_has_an_item_analysis(term):
    assert f"{SLUG}: 4 submissions, 0 pairs for a person to look at" in printed(term, "autograder similar")
    with (term / "report" / "items.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["exercise"] for row in rows} == {"softmax", "log_softmax", "entropy"}
    assert {row["failed_by"] for row in rows if row["exercise"] == "entropy" and row["failed_by"]} == {"ella"}
    assert {row["note"] for row in rows} == {"too few"}


def test_a_round_after_all_this_grades_nothing_again_and_keeps_the_correction(term):
    output = printed(term, "autograder round")
    assert "1 of 5, collect: 5 files: new 0, unchanged 4, older 1" in output
    assert "0 graded now, 4 unchanged" in output
    assert "5 of 5, export: 4 graded submissions; " in output
    assert scores(term)["ella", "entropy"] == CORRECTED


def test_the_guide_names_no_file_that_is_not_made(term):
    text = GUIDE.read_text()
    for name in re.findall(r"`((?:report|bundles|exports|regraded|collected_earlier)/[\w./-]*|\w+\.(?:csv|json))`", text):
        places = (term / name, term / "exports" / name)
        assert any(place.exists() for place in places) or name in ("timestamp.txt",), name

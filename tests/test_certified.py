"""What certification has found is kept: specimens are judged again where something has changed, and by draw."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import certified, certify, cli
from autograder.certified import ROOT, certify_changed
from autograder.certify import read_specimen
from autograder.course_table import known_topics
from autograder.grading import confine
from autograder.grading.limits import Limits
from autograder.imports import names_imported
from autograder.specimen_files import SPECIMENS, find_specimens

RIGHT = "# exercise: softmax\n# RIGHT: torch's own\ndef softmax(logits):\n    return torch.softmax(logits, dim=-1)\n"
WRONG = "# exercise: softmax\n# WRONG: over the first dimension\ndef softmax(logits):\n    return torch.softmax(logits, dim=0)\n"
BOTH = {"right_torch.py", "wrong_dim.py"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "softmax").mkdir()
    (tmp_path / "softmax" / "right_torch.py").write_text(RIGHT)
    (tmp_path / "softmax" / "wrong_dim.py").write_text(WRONG)
    return tmp_path


@pytest.fixture
def judged(monkeypatch):
    """The files of the specimens that are judged, as it happens; grading is stood in for by the names."""
    seen: list[str] = []

    def judge(specimen, *args, timing=False, **how):
        seen.append(specimen.file)
        as_due = "survives" not in specimen.source
        return certify.Judgement(specimen, as_due, note="" if as_due else "every check of its exercise passes")

    monkeypatch.setattr(certify, "judge", judge)
    monkeypatch.setattr(certify, "needs_measuring", lambda judgement, *, briefly=False: False)
    return seen


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(certified, "is_drawn", lambda specimen, draw: False)


def keep(folder: Path, **how):
    return certify_changed("softmax", folder=folder, **{"seeds": 1, "keep": True, **how})


def stored(folder: Path) -> dict:
    return json.loads((folder / "softmax" / "kept.json").read_text())


def test_what_real_grading_found_is_kept_and_not_judged_again(folder, undrawn):
    (result,), kept = keep(folder)
    assert (result.right_passed, result.wrong_killed, len(kept.new)) == (1, 1, 2)
    assert stored(folder).keys() == BOTH
    (result,), kept = keep(folder)
    assert (result.right_total, result.wrong_total) == (0, 0)
    assert {s.file for s in kept.left} == BOTH
    assert kept.told() == "judged: 0 specimens that are new or changed, or whose judges are, and 0 of 2 kept ones"


def test_a_changed_specimen_and_a_new_one_are_judged(folder, judged, undrawn):
    keep(folder)
    judged.clear()
    (folder / "softmax" / "wrong_dim.py").write_text(WRONG + "# more\n")
    (folder / "softmax" / "wrong_new.py").write_text(WRONG)
    keep(folder)
    assert judged == ["wrong_dim.py", "wrong_new.py"]
    (folder / "softmax" / "wrong_new.py").unlink()
    keep(folder)
    assert stored(folder).keys() == BOTH


def test_all_are_judged_where_what_judges_them_has_changed(folder, judged, undrawn, monkeypatch):
    keep(folder)
    judged.clear()
    version = certified.metadata.version
    monkeypatch.setattr(certified.metadata, "version", lambda name: "2.99" if name == "torch" else version(name))
    keep(folder)
    assert set(judged) == BOTH


def test_more_seeds_hold_for_fewer_and_a_whole_judgement_for_a_brief_one(folder, judged, undrawn):
    keep(folder, seeds=2)
    judged.clear()
    keep(folder, seeds=1)
    certify_changed("softmax", folder=folder, seeds=1, briefly=True)
    assert judged == []
    keep(folder, seeds=3)
    assert set(judged) == BOTH
    assert {seeds for _, seeds in stored(folder).values()} == {3}


def test_a_brief_judgement_is_not_kept(folder, judged):
    certify_changed("softmax", folder=folder, seeds=1, briefly=True)
    assert not (folder / "softmax" / "kept.json").exists()
    with pytest.raises(ValueError, match="brief"):
        keep(folder, briefly=True)


def test_what_does_not_get_its_due_is_not_kept_and_judged_each_time(folder, judged, undrawn):
    (folder / "softmax" / "wrong_new.py").write_text(WRONG + "# survives\n")
    for _ in range(2):
        (result,), _ = keep(folder)
        assert [s["file"] for s in result.survivors] == ["wrong_new.py"]
        assert result.survivors[0]["reason"] == "every check of its exercise passes"
    assert stored(folder).keys() == BOTH
    assert judged.count("wrong_new.py") == 2


def test_a_tenth_is_drawn_and_the_same_one_again():
    specimens = [certify.Specimen("softmax", f"wrong_{i}.py", "softmax", False, "", "") for i in range(2_000)]
    first, again, other = ([s.file for s in specimens if certified.is_drawn(s, draw)] for draw in (7, 7, 8))
    assert first == again != other
    assert 150 < len(first) < 250
    fewer = [s.file for s in specimens if certified.luck(s, 7) < 0.025]
    assert set(fewer) < set(first)
    assert 25 < len(fewer) < 75
    assert certified.which(specimens[:2]) == "softmax/wrong_0.py, softmax/wrong_1.py"
    assert certified.which(specimens) == "2000 of softmax"
    draws = {certified.Kept(Path(), seeds=1, limits=Limits()).draw for _ in range(5)}
    assert len(draws) > 1


def test_what_is_drawn_is_judged_and_the_draw_is_told(folder, judged, monkeypatch):
    keep(folder)
    judged.clear()
    draw = next(n for n in range(1_000) if drawn_by(n, folder) == ["wrong_dim.py"])
    _, kept = keep(folder, draw=draw)
    assert judged == ["wrong_dim.py"]
    assert kept.told().endswith(f"1 of 2 kept ones (draw {draw})\nkept: softmax/wrong_dim.py")
    assert stored(folder).keys() == BOTH
    judged.clear()
    keep(folder, draw=draw, share=0.0)
    assert judged == []
    keep(folder, fresh=True)
    assert set(judged) == BOTH


def drawn_by(draw: int, folder: Path) -> list[str]:
    specimens = [certify.read_specimen(listed) for listed in find_specimens(folder, ["softmax"])]
    return [s.file for s in specimens if certified.is_drawn(s, draw)]


def test_a_judgement_that_differs_from_the_one_kept_is_told_as_that_and_no_longer_kept(folder, judged, monkeypatch):
    keep(folder)
    honest = certify.judge
    monkeypatch.setattr(certify, "judge", lambda s, *args, **how: certify.Judgement(s, s.right, note="" if s.right else "it passes"))
    (result,), _ = keep(folder, fresh=True)
    assert [s["reason"] for s in result.survivors] == [f"{certified.DIFFERS}: it passes"]
    assert stored(folder).keys() == {"right_torch.py"}
    monkeypatch.setattr(certify, "judge", honest)
    _, kept = keep(folder)
    assert [s.file for s in kept.new] == ["wrong_dim.py"]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"wrong_dim.py": 3, "right_torch.py": null}',
        b'{"wrong_dim.py": ["00", 1], "right_torch.py": ["00", 9]}', b'{"wrong_dim.py": [["00"], 1], "right_torch.py": ["00"]}',
    ],
)  # fmt: skip
def test_a_damaged_file_leads_to_judging_and_is_made_anew(folder, judged, undrawn, content):
    (folder / "softmax" / "kept.json").write_bytes(content)
    keep(folder)
    assert set(judged) == BOTH
    assert stored(folder).keys() == BOTH


def test_a_digest_or_number_of_seeds_that_was_tampered_with_leads_to_judging(folder, judged, undrawn):
    keep(folder)
    entries = stored(folder)
    entries["wrong_dim.py"][0] = entries["right_torch.py"][0]
    entries["right_torch.py"][1] = True
    (folder / "softmax" / "kept.json").write_text(json.dumps(entries))
    judged.clear()
    keep(folder)
    assert set(judged) == BOTH


def test_of_a_run_that_was_stopped_what_it_found_is_kept(folder, judged, undrawn):
    def stop(done, total, judgement):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep(folder, jobs=1, begin=lambda total: stop)
    assert stored(folder).keys() == {"right_torch.py"}


def test_nothing_is_kept_of_a_topic_whose_judges_change_meanwhile(folder, judged, undrawn, monkeypatch):
    before = certified.judges
    changed = []
    monkeypatch.setattr(certified, "judges", lambda *args: before(*args) + str(changed))
    _, kept = keep(folder, begin=lambda total: lambda *told: changed.append("meanwhile"))
    assert not (folder / "softmax" / "kept.json").exists()
    assert "softmax: not kept" in kept.told()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what judges, to be changed."""
    root = tmp_path_factory.mktemp("course")
    leave_out = shutil.ignore_patterns("specimens", "models", "__pycache__", "day*", "templates", "*.svg")
    for name in ("autograder", "course", "datasets", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=leave_out)
    return root


@pytest.mark.parametrize(
    "name",
    [
        "autograder/checks/test_samplers.py", "autograder/hidden/test_samplers.py", "autograder/checks/devices.py",
        "autograder/authoring.py", "autograder/certify.py", "autograder/evidence.py", "autograder/runner.py",
        "autograder/grading/gpu.py", "autograder/grading/line.py", "autograder/grading/timing.py", "autograder/grading/worker.py",
        "autograder/grading/zygote.py", "course/kit/model.py", "solutions/samplers.py", "solutions/softmax.py",
        "datasets/tiny/config.json", "datasets/multilingual.jsonl",
    ],
)  # fmt: skip
def test_a_change_of_what_judges_counts(copy, name):
    before = certified.judges("samplers", Limits(), copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content + (b"\nMORE = 1\n" if name.endswith(".py") else b"\n"))
    assert certified.judges("samplers", Limits(), copy) != before
    (copy / name).write_bytes(content)
    assert certified.judges("samplers", Limits(), copy) == before


@pytest.mark.parametrize(
    "name",
    [
        "autograder/checks/test_softmax.py", "autograder/hidden/test_kv_cache.py", "autograder/lessons/markdown.py",
        "autograder/grading/executors/local.py", "autograder/certified.py", "solutions/kv_cache.py", "course/syllabus.toml",
        "course/kit/tile_stepper.py", "course/kit/stepping.py", "course/kit/drafts.py",
    ],
)  # fmt: skip
def test_a_change_of_what_does_not_judge_counts_for_nothing(copy, name):
    before = certified.judges("samplers", Limits(), copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content + (b"\nMORE = 1\n" if name.endswith(".py") else b"\n"))
    assert certified.judges("samplers", Limits(), copy) == before
    (copy / name).write_bytes(content)


def test_a_comment_judges_nothing(copy):
    before = certified.judges("samplers", Limits(), copy)
    path = copy / "autograder" / "grading" / "worker.py"
    content = path.read_text()
    path.write_text(content.replace("\nimport", "\n# A reason.\nimport", 1))
    assert path.read_text() != content
    assert certified.judges("samplers", Limits(), copy) == before
    path.write_text(content)


def test_a_topics_numbers_worked_out_by_hand_count_and_another_topics_do_not(copy):
    before = {topic: certified.judges(topic, Limits(), copy) for topic in ("softmax", "samplers")}
    path = copy / "datasets" / "hand_computed.toml"
    path.write_text(path.read_text() + "\n[softmax.one_more]\nvalue = 1\n")
    assert certified.judges("softmax", Limits(), copy) != before["softmax"]
    assert certified.judges("samplers", Limits(), copy) == before["samplers"]


def test_limits_count():
    assert certified.judges("softmax", Limits(), ROOT) != certified.judges("softmax", Limits(call_seconds=4.0), ROOT)


OPENED = """
import sys
opened = set()
sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
from pathlib import Path
from autograder import certify
certify.certify(sys.argv[1], folder=Path(sys.argv[2]), seeds=1)
print(*opened, sep="\\n")
"""
KNOWN_OTHERWISE = ("course/syllabus.toml", "datasets/hand_computed.toml")
"""The order of topics shows in whose references count, and of the numbers the topic's own do."""


def test_every_file_of_the_course_that_judging_opens_counts(tmp_path):
    """Seen from the grader's process; the modules of the worker are followed from its first one."""
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "right_nothing.py").write_text("# exercise: bpe_encode\n# RIGHT: nothing of its own\npass\n")
    done = subprocess.run([sys.executable, "-c", OPENED, "tokenizer", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    opened = {source_of(Path(line)) for line in done.stdout.splitlines() if Path(line).is_relative_to(ROOT)}
    ours = {path.relative_to(ROOT) for path in opened if not path.is_relative_to(sys.prefix) and path.is_file()}
    others = {path.as_posix() for path in ours - set(certified.files("tokenizer"))}
    silent = {"autograder/learning.py", "autograder/specimen_files.py", "autograder/grading/records.py", "autograder/files.py"}
    assert {name for name in others if not name.startswith("autograder/lessons/")} <= {*KNOWN_OTHERWISE, *silent}
    assert Path("datasets/multilingual.jsonl") in ours
    assert Path("autograder/hidden/test_tokenizer.py") in ours


def test_every_file_of_the_course_that_a_worker_may_read_counts():
    paths = [Path(path) for path in confine.own_paths() if not path.endswith("datasets/models")]
    inside = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))}
    readable = {path.relative_to(ROOT) for path in inside if path.suffix in (".py", *certified.DATA)}
    how_it_was_made = {Path("datasets", name) for name in ("smollm2_tokenizer/export.py", "tiny/plays.py", "tiny/train.py")}
    for topic in ("softmax", "paging"):
        not_counted = readable - how_it_was_made - set(certified.files(topic))
        assert {path.parts[:2] for path in not_counted} <= {("course", "kit")}
    assert len(readable) > 40


@pytest.mark.slow
def test_what_does_not_count_of_the_kit_is_imported_by_nothing_that_is_judged_or_judges():
    """A submission may read all of the kit; the judgement of a specimen depends on what its text can reach."""
    for topic in known_topics():
        counted = set(certified.files(topic))
        outside = {
            f"course.kit.{path.stem}" for path in (ROOT / "course" / "kit").glob("*.py") if path.relative_to(ROOT) not in counted
        }
        assert {"course.kit.stepping", "course.kit.cache_stepper", "course.kit.roofline_steps"} <= outside
        assert not {"course.kit.plots", "course.kit.model", "course.kit.ranks"} & outside
        sources = [((ROOT / path).read_text(encoding="utf-8"), ".".join(path.parent.parts)) for path in counted if path.suffix == ".py"]
        sources += [(read_specimen(listed).source, "") for listed in find_specimens(SPECIMENS, [topic])]
        found = {name for source, package in sources for name in names_imported(source, package)}
        assert "course.kit.model" in found
        assert not found & outside, topic


def source_of(path: Path) -> Path:
    return path.parents[1] / f"{path.name.split('.')[0]}.py" if path.parent.name == "__pycache__" else path


def test_the_command_keeps_and_says_what_it_judged(folder, judged, monkeypatch, capsys):
    def run(*more: str) -> tuple[int, str, str]:
        how = ["--specimens", str(folder), "--seeds", "1", "--keep", *more]
        monkeypatch.setattr(sys, "argv", ["autograder", "certify", "softmax", *how])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code, *capsys.readouterr())

    status, table, said = run()
    assert status == 0
    assert "Certification, 1 seed(s) a specimen" in table
    assert said.startswith("judged: 2 specimens that are new or changed")
    draw = next(n for n in range(1_000) if drawn_by(n, folder) == ["right_torch.py"])
    _, table, said = run("--draw", str(draw))
    assert "Certification of what is not kept, or drawn" in table
    assert said.endswith(f"1 of 2 kept ones (draw {draw})\nkept: softmax/right_torch.py\n")
    status, _, said = run("--json")
    assert (status, "add --fresh" in said) == (2, True)
    _, told, _ = run("--json", "--fresh")
    assert json.loads(told)["right_total"] == 1

"""Versions of an exercise in one file: whole ones, edits of a right one, and the messages about malformed ones."""

from collections import Counter
from pathlib import Path

import pytest

from autograder.base.course_table import known_topics
from autograder.base.errors import CourseError
from autograder.base.specimen_files import SPECIMENS, edited, find_specimens
from autograder.certification import certify

COLLECTED = """\
# Comments may stand here.


# %% right_plain
# RIGHT: step by step
import torch


def softmax(logits):
    weights = logits.exp()

    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights


# %% wrong_dim, of right_plain
# WRONG: over the first dimension
# SAYS: The sum runs over the wrong dimension.
# -     weights = weights / weights.sum(dim=-1, keepdim=True)
# +     weights = weights / weights.sum(dim=0, keepdim=True)

# %% wrong_twice, of right_plain
# WRONG: doubled before and after
#       weights = logits.exp()
# +     weights = weights * 2
# ...
# -     return weights
# +     return weights * 2


# %% wrong_stub
# WRONG: not written

def softmax(logits):
    pass
"""
ALONE = """\
# exercise: softmax
# WRONG: over the first dimension
# SAYS: The sum runs over the wrong dimension.
import torch


def softmax(logits):
    weights = logits.exp()

    weights = weights / weights.sum(dim=0, keepdim=True)
    return weights
"""


def folder(tmp_path: Path, text: str = COLLECTED, **alone: str) -> Path:
    (tmp_path / "softmax").mkdir()
    (tmp_path / "softmax" / "softmax.py").write_text(text)
    for name, source in alone.items():
        (tmp_path / "softmax" / f"{name}.py").write_text(source)
    return tmp_path


def found(folder: Path) -> dict:
    return {listed.name: listed for listed in find_specimens(folder, ["softmax"])}


def test_a_version_in_a_collected_file_is_what_it_would_be_in_a_file_of_its_own(tmp_path):
    one = found(folder(tmp_path, wrong_alone=ALONE))
    assert list(one) == ["right_plain", "wrong_alone", "wrong_dim", "wrong_stub", "wrong_twice"]
    assert one["wrong_dim"].text == one["wrong_alone"].text == ALONE
    assert one["wrong_stub"].text == "# exercise: softmax\n# WRONG: not written\n\ndef softmax(logits):\n    pass\n"
    specimen = certify.read_specimen(one["wrong_dim"])
    assert (specimen.file, specimen.exercise, specimen.right) == ("wrong_dim.py", "softmax", False)
    assert (specimen.difference, specimen.says) == ("over the first dimension", "The sum runs over the wrong dimension.")
    assert certify.read_specimen(one["right_plain"]).right


def test_several_places_of_an_edit_and_lines_that_are_added(tmp_path):
    text = found(folder(tmp_path))["wrong_twice"].text
    body = ["    weights = logits.exp()", "    weights = weights * 2", "", "    weights = weights / weights.sum(dim=-1, keepdim=True)"]
    assert text.endswith("\n".join([*body, "    return weights * 2\n"]))


def test_blank_lines_in_an_edit():
    base = ["a", "", "b", "", "c"]
    assert edited(base, ["# - a", "# -", "# + d", "# +", "#", "#   b"][:4]) == ["d", "", "b", "", "c"]
    assert edited(base, ["#   a", "#", "# - b"]) == ["a", "", "", "c"]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (["# - x = 3", "# + x = 4"], "not 0 times"),
        (["# - x = 1", "# + x = 4"], "not 2 times"),
        (["# - x = 1 "], "not 0 times"),
        (["# + x = 4"], "no unchanged line says where"),
        (["# - y = 2", "# ...", "#   y = 2", "# + z = 2"], "in two places"),
        (["# - y = 2", "y = 3"], "begins with none of"),
        (["# y = 2"], "begins with none of"),
        (["# - y = 2", "# ..."], "without lines"),
        ([], "without lines"),
    ],
)
def test_an_edit_that_does_not_fit_in_exactly_one_way_is_an_error(edit, says):
    with pytest.raises(CourseError, match=says):
        edited(["x = 1", "y = 2", "x = 1"], edit)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("# %% wrong_dim, of right_plain", "# %% wrong_dim, of right_other", "right_other is not a correct version"),
        ("# %% wrong_dim, of right_plain", "# %% wrong_dim, of wrong_stub", "wrong_stub is not a correct version"),
        ("# %% wrong_dim, of right_plain", "# %% wrong_dim of right_plain", "a head is"),
        ("# %% wrong_dim, of right_plain", "# %% right_dim, of right_plain", "says WRONG"),
        ("# WRONG: over the first dimension\n", "", "the line below the head"),
        ("# %% wrong_dim,", "# %% wrong_stub,", "occurs twice"),
        ("# %% wrong_dim,", "# %% dim,", "a head is"),
        ("/ weights.sum(dim=-1, keepdim=True)\n# +", "/ weights.sum()\n# +", "not 0 times"),
    ],
)
def test_one_version_out_of_form_is_reported_with_its_line_and_the_others_are_read(tmp_path, old, new, says):
    assert old in COLLECTED
    read, problems = [], []
    for listed in find_specimens(folder(tmp_path, COLLECTED.replace(old, new)), ["softmax"]):
        try:
            read.append(certify.read_specimen(listed).file)
        except CourseError as error:
            problems.append(str(error))
    line = COLLECTED[: COLLECTED.index("# %% wrong_dim")].count("\n") + 1
    assert "right_plain.py" in read
    assert any(says in each and each.startswith(f"{tmp_path / 'softmax' / 'softmax.py'}:{line}: ") for each in problems), problems


@pytest.mark.parametrize("text", ["", "x = 1\n# %% right_plain\n", "def softmax(logits): pass\n"])
def test_code_that_belongs_to_no_version_is_an_error(tmp_path, text):
    (listed,) = find_specimens(folder(tmp_path, text), ["softmax"])
    with pytest.raises(CourseError, match="before each version"):
        certify.read_specimen(listed)


def test_the_same_name_in_two_files_is_an_error_in_both(tmp_path):
    both = [listed for listed in find_specimens(folder(tmp_path, wrong_stub=ALONE), ["softmax"]) if listed.file == "wrong_stub.py"]
    assert [listed.fault for listed in both] == ["this name occurs twice in its topic"] * 2


def test_certification_judges_them_and_tells_where_they_stand(tmp_path):
    survives = COLLECTED.replace("sum(dim=0, keepdim=True)", "sum(dim=-1, keepdim=True) * 1")
    right = survives.replace("logits.exp()", "(logits - logits.amax(dim=-1, keepdim=True)).exp()")
    (result,) = certify.certify("softmax", folder=folder(tmp_path, right), seeds=1)
    assert (result.wrong_total, result.wrong_killed) == (3, 2)
    assert [(s["file"], s["place"]) for s in result.survivors] == [
        ("wrong_dim.py", f"{tmp_path / 'softmax' / 'softmax.py'}:16: wrong_dim")
    ]
    assert result.invalid == []


def test_a_place_of_the_course_is_recognised_from_its_folder():
    listed = next(find_specimens(SPECIMENS, ["softmax"]))
    assert listed.place.startswith("specimens/softmax/") or listed.place == f"softmax/{listed.file}"


@pytest.mark.parametrize("topic", known_topics())
def test_every_version_of_the_course_can_be_read_and_stands_in_its_exercises_file(topic):
    versions = list(find_specimens(SPECIMENS, [topic]))
    assert Counter(listed.right for listed in versions)[True] > 5
    for listed in versions:
        specimen = certify.read_specimen(listed)
        compile(specimen.source, listed.place, "exec")
        assert listed.path.stem in (specimen.exercise, listed.name)

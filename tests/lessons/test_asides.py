"""What a lesson asks beside its points: a bug to find, a sentence to refute, a challenge. Answers right and wrong, in the lesson's cell.

An answer is written as a specimen is (docs/contributing.md), in `tests/lessons/asides/<topic>.py` below `# === name`. The name is what
the student writes or changes: a value or a function of the cell. It takes that place, the cell runs, and must say that it is right,
or not say so. A colleague's version, in which the bug is, is repaired where the lesson says: then nothing is found any more. If an
exercise comes after it, the version is held against that exercise's checks: it loses points there, and repaired it loses none.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.base.datafiles import hand_computed
from autograder.base.specimen_files import Listed, parts, sections, whole
from autograder.checking.runner import run_checks, select
from autograder.lessons import find_day, lesson
from autograder.notebook.parse_input import NotOfTheForm
from autograder.sandbox.process.local import LocalStudent
from course.kit import Tokenizer, load_model, load_tokenizer

FOLDER = Path(__file__).parent / "asides"


@dataclass(frozen=True)
class Aside:
    """How a lesson's cell judges one answer."""

    topic: str
    name: str
    """What the student writes or changes; also the head of its answers."""
    found: str
    """What the cell says of a right answer, and of no other."""
    exercise: str = ""
    """The exercise whose checks judge the repair of a bug."""
    colleague: str = ""
    """The cell's function in which the bug is."""
    edits: tuple[tuple[str, str], ...] = ()
    """(what is wrong, what is right), each wrong part once in the cell. If there are none, the reference solution is the repair."""
    named: tuple[str, ...] = ()
    """Code of the edits that the lesson quotes where it says what is wrong."""
    sound: str = ""
    """What the cell says if nothing is wrong."""

    def __str__(self) -> str:
        return f"{self.topic}/{self.name}"


ASIDES = [
    Aside("softmax", "my_scores", "refuted:"),
    Aside("softmax", "my_rows", "you have found it", "softmax", "colleagues_softmax"),
    Aside("softmax", "my_probs", "you have found it", "entropy", "colleagues_entropy"),
    Aside("softmax", "take_in", "right after every score"),
    Aside("tokenizer", "my_text", "you have found it", "bpe_encode", "colleagues_encode"),
    Aside("tokenizer", "my_tokens", "you have found it", "StreamDecoder", "ColleaguesDecoder"),
    Aside("tokenizer", "my_message", "refuted for this text"),
    Aside("tokenizer", "encode_chat", "safe: every special token"),
    Aside("tokenizer", "merge_all", "right, and "),
    Aside("tokenizer", "train_bpe", "right for all texts"),
    Aside(
        "attention", "my_scores", "you have found it",
        edits=(("softmax(scores) * seen", "softmax(scores.masked_fill(~seen, -torch.inf)) * seen"),),
    ),
    Aside("attention", "my_lengths", "you have found it", "causal_mask", "colleagues_mask", ((".tril()", ".tril(k_len - q_len)"),)),
    Aside("attention", "my_distances", "refuted\n"),
    Aside("attention", "window_attention", "right, and the work grows"),
    Aside("transformer", "my_x", "you have found it", "rms_norm", "colleagues_norm"),
    Aside(
        "transformer", "my_positions", "you have found it", "decoder_block", "colleagues_block",
        (("config, torch.arange(x.shape[1]), attend", "config, positions, attend"),), named=("positions",),
    ),
    Aside("transformer", "colleagues_block", "repaired: "),
    Aside("transformer", "my_counts", "the sentence is refuted"),
    Aside("transformer", "qk_norm_block", "all of it holds"),
    Aside("samplers", "my_logits", "refuted: token"),
    Aside("samplers", "my_probs", "you have found it", "top_p_probs", "colleagues_top_p"),
    Aside("samplers", "my_row", "you have found it", "draw", "colleagues_draw"),
    Aside("samplers", "race", "right: every row"),
    Aside("steering", "my_logits", "you have found it", "apply_repetition_penalty", "colleagues_penalty"),
    Aside("steering", "my_said", "you have found it", edits=(("counts[said] += 1", "counts += said.bincount(minlength=6)"),)),
    Aside("steering", "my_presence", "refuted:"),
    Aside("steering", "date_goes_on", "right: every beginning"),
    Aside("steering", "json_goes_on", "right: JSON"),
    Aside("generation", "my_sentence", "refuted:"),
    Aside("generation", "my_prompts", "you have found it", edits=(("(made[:, -1] == eos).all()", "(made == eos).any(dim=1).all()"),)),
    Aside("generation", "colleagues_done", "repaired: "),
    Aside("generation", "my_use", "you have found it", "stream", "colleagues_stream"),
    Aside("generation", "generate_each", "right: every row"),
    Aside("latency", "my_waits", "you have found it", "percentile", "colleagues_percentile"),
    Aside("latency", "my_servers", "refuted:"),
    Aside("latency", "my_gaps", "you have found it", "goodput", "colleagues_goodput"),
    Aside("latency", "capacity", "right for every promise"),
    Aside("latency", "hedge", "right in every case"),
    Aside("costs", "my_change", "you have found it", "forward_flops", "colleagues_flops"),
    Aside("costs", "my_tokens", "the sentence is refuted"),
    Aside(
        "costs", "my_heads", "you have found it", "kv_cache_bytes", "colleagues_bytes",
        (("config.hidden_size", "config.num_key_value_heads * config.head_dim"),),
    ),
    Aside("costs", "my_bet", "holds, to a tenth"),
    Aside("costs", "from_card", "right for every card and place"),
    Aside("kv_cache", "my_calls", "you have found it", "KVCache", "ColleaguesCache"),
    Aside("kv_cache", "my_chunks", "you have found it", edits=(("< stored[:, None]", "<= torch.arange(9)[:, None]"),)),
    Aside("kv_cache", "my_bet", "your bet holds"),
    Aside("kv_cache", "my_flops", "the sentence is refuted"),
    Aside("kv_cache", "RingCache", "right, in a ring of slots"),
    Aside(
        "batching", "my_rows", "you have found it", "left_pad", "colleagues_pad",
        (("(ids == pad_id).long().cumprod(dim=1).sum(dim=1)", "ids.shape[1] - torch.tensor([len(prompt) for prompt in prompts])"),),
    ),
    Aside(
        "batching", "my_prompts", "you have found it", "decode_batch", "colleagues_decode",
        (("mask = None  # all", "_, mask = positions_and_mask(num_pad, cache.length, 1)  # all"),),
    ),
    Aside("batching", "my_lengths", "the sentence is refuted"),
    Aside("batching", "sorted_batches", "right, with the fewest slots"),
    Aside(
        "flash_attention", "my_scores", "you have found it", "absorb", "colleagues_absorb",
        (
            ("top = scores.max(dim=-1).values\n", """\
m = torch.maximum(state.m, scores.max(dim=-1).values)
    top = m.masked_fill(m == -torch.inf, 0.0)
"""),
            ("State(top, ", "State(m, "),
        ),
        sound="- the same\nrepaired: ",
    ),
    Aside("flash_attention", "colleagues_absorb", "all 600 rows come out right"),
    Aside("flash_attention", "my_flops", "the sentence is refuted"),
    Aside("paging", "my_tokens", "the sentence is refuted"),
    Aside(
        "paging", "my_story", "you have found it",
        edits=(("self.blocks[-1] = pairs[-1][1]\n", """\
self.blocks[-1] = pairs[-1][1]
                else:
                    self.pool.forget(self.blocks[-1])
"""),),
        named=("else:", "forget"), sound="every name leads to its own tokens",
    ),
    Aside("paging", "repaired_grow", "all 100 stories come out right"),
    Aside("continuous_batching", "my_gaps", "the sentence is refuted"),
    Aside(
        "continuous_batching", "my_case", "you have found it",
        edits=(
            ("others = [other for other in scheduler.running if other is not row]", "others = [scheduler.running[-1]]"),
            ("                plan.preempted.append(others[-1])\n", """\
                plan.preempted.append(others[-1])
                if row not in scheduler.running:
                    break
            if row not in scheduler.running:
                break
"""),
        ),
        named=("others = [scheduler.running[-1]]",), sound="and all have ended",
    ),
    Aside("continuous_batching", "repaired_feed", "all 300 cases come out as"),
    Aside("speculative", "my_ids", "the sentence is refuted"),
    Aside("speculative", "my_guesses", "the sentence is refuted"),
    Aside("speculative", "my_draft", "the sentence is refuted"),
    Aside(
        "speculative", "my_p", "you have found it", edits=(("torch.tensor([[u]]", "torch.tensor([[v]]"),), named=("[[v]]",),
        sound="- p, as far as the grid can tell\nrepaired: ",
    ),
    Aside("speculative", "colleagues_verify", "repaired:"),
    Aside("quantization", "my_probs", "the sentences are refuted"),
    Aside(
        "quantization", "my_q", "you have found it", edits=(("sum(dtype=torch.int16)", "sum(dtype=torch.int32)"),), named=("torch.int32",),
        sound="the same\n",
    ),
    Aside("quantization", "colleagues_dot", "repaired:"),
    Aside("parallel", "my_numbers", "the sentence is refuted"),
    Aside("parallel", "my_wire", "the sentence is refuted"),
    Aside(
        "parallel", "my_logits", "you have found it",
        edits=(("probability, token = logits.softmax(dim=0).max(dim=0)", "probability, token = logits.max(dim=0)"),),
        named=("probability, token = logits.max(dim=0)",), sound="repaired: right here",
    ),
    Aside("parallel", "colleagues_choice", "repaired:"),
    Aside("serving", "my_cut", "the sentence is refuted"),
    Aside("serving", "my_text", "the sentence is refuted"),
    Aside(
        "serving", "my_readers", "you have found it",
        edits=(("if len(self.queues) >= self.core.max_running + self.may_wait:", "if self.core.num_waiting >= self.may_wait:"),),
        named=("if self.core.num_waiting >= self.may_wait:",), sound="repaired: ",
    ),
    Aside("serving", "ColleaguesEngine", "repaired:"),
]  # fmt: skip
BUGS = [aside for aside in ASIDES if aside.found == "you have found it"]


@functools.cache
def texts(topic: str) -> dict[str, str]:
    """Return the answers to a day's asides, as {name: text}."""
    return sections(FOLDER / f"{topic}.py")


def answers(aside: Aside) -> list[Listed]:
    found = parts(texts(aside.topic)[aside.name])
    return [whole(part, found, FOLDER / f"{aside.name}.py", aside.topic) for part in found]


ANSWERS = [(aside, each) for aside in ASIDES for each in answers(aside)]


def cell_of(aside: Aside) -> tuple[str, ast.stmt]:
    """The lesson's cell in which the name gets its value for the first time, and that statement."""
    for cell in lesson(find_day(aside.topic)).cells:
        if cell.role == "demo":
            for node in ast.parse(cell.source).body:
                if getattr(node, "name", None) == aside.name or aside.name in named_first(node):
                    return cell.source, node
    raise AssertionError(f"no cell of {aside.topic} gives {aside.name} a value")


def named_first(node: ast.stmt) -> set[str]:
    """Return the name that an assignment gives a value, the first one of several."""
    targets = [t.elts[0] if isinstance(t, ast.Tuple) else t for t in getattr(node, "targets", [])]
    return {t.id for t in targets if isinstance(t, ast.Name)}


def with_answer(aside: Aside, answer: str | None) -> str:
    source, node = cell_of(aside)
    if answer is None:
        return source
    lines = source.split("\n")
    imports = "import math\nimport torch"  # for whoever writes math.inf
    return "\n".join([imports, *lines[: node.lineno - 1], answer, *lines[node.end_lineno :]])


def names_of(topic: str) -> dict[str, Any]:
    """What a cell finds when it runs: the reference for every exercise, and what setup cells import."""
    found: dict[str, Any] = dict(vars(importlib.import_module(f"solutions.{topic}")))
    cells = lesson(find_day(topic)).cells
    setup = ast.parse(next(cell.source for cell in cells if cell.role == "setup")).body
    exec(compile(ast.Module([node for node in setup if isinstance(node, ast.Import | ast.ImportFrom)], []), "<setup>", "exec"), found)
    found["if_solved"] = lambda *_: True
    if topic == "tokenizer":
        found["tokenizer"] = smollm2s_tokenizer()
    if topic in ("transformer", "kv_cache", "batching"):
        found["tiny"] = load_model("tiny")
        found["exact"] = load_model("tiny", dtype=torch.float64)
    if topic == "generation":
        found["table"] = torch.tensor(hand_computed("generation")["bigram"]["probs"])
    for cell in cells:  # what earlier cells define without running anything
        if cell.role == "demo":
            body: list[ast.stmt] = [node for node in ast.parse(cell.source).body if defines(node)]
            exec(compile(ast.Module(body, []), "<cells>", "exec"), found)
    return found


@functools.cache
def smollm2s_tokenizer() -> Tokenizer:
    """Read once: it takes half a second, and no answer changes it."""
    return load_tokenizer("smollm2")


def defines(node: ast.stmt) -> bool:
    """Whether a statement only names something: a function, a class, a literal."""
    if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
        try:
            ast.literal_eval(node.value)
        except ValueError:
            return False
        return True
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def repaired(aside: Aside, source: str) -> str:
    """The cell with the repair in place of the bug."""
    for wrong, right in aside.edits:
        assert source.count(wrong) == 1
        source = source.replace(wrong, right)
    if aside.edits:
        return source
    node = next(node for node in ast.parse(source).body if getattr(node, "name", None) == aside.colleague)
    lines = source.split("\n")
    return "\n".join([*lines[: node.lineno - 1], f"{aside.colleague} = {aside.exercise}", *lines[node.end_lineno :]])


def said_by(aside: Aside, source: str, capsys: pytest.CaptureFixture[str]) -> str:
    torch.manual_seed(0)
    try:
        exec(source, names_of(aside.topic))
    except NotOfTheForm as refused:  # a notebook shows its line
        return str(refused)
    return capsys.readouterr().out


def marks(aside: Aside, answer: Any) -> list[pytest.MarkDecorator]:
    """An aside's first two right and first two wrong answers are in `make test`; the others are slow only by their number."""
    alike = [each.name for found, each in ANSWERS if found == aside and each.right == answer.right]
    return [] if answer.name in alike[:2] else [pytest.mark.slow]


@pytest.mark.parametrize(
    ("aside", "answer"), [pytest.param(*pair, marks=marks(*pair), id=f"{pair[0]}-{pair[1].name}") for pair in ANSWERS]
)
def test_the_cell_tells_right_answers_from_wrong_ones(aside: Aside, answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert not answer.fault
    said = said_by(aside, with_answer(aside, answer.text), capsys)
    assert said.strip(), "the cell says something of every answer"
    assert (aside.found in said) == answer.right, said


def test_there_are_enough_answers_of_each_kind() -> None:
    named = {(path.stem, name) for path in FOLDER.glob("*.py") for name in texts(path.stem)}
    assert named == {(aside.topic, aside.name) for aside in ASIDES}, "every section of answers is of an aside, and every aside has one"
    assert max(Counter((aside, each.name) for aside, each in ANSWERS).values()) == 1, "a name stands for one answer of a file"
    count = Counter((str(aside), each.right) for aside, each in ANSWERS)
    assert {str(aside): (count[str(aside), True] >= 3, count[str(aside), False] >= 6) for aside in ASIDES} == {
        str(aside): (True, True) for aside in ASIDES
    }


@pytest.mark.parametrize("aside", ASIDES, ids=str)
def test_the_cell_as_it_stands_finds_nothing(aside: Aside, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_by(aside, with_answer(aside, None), capsys)
    assert said.strip()
    assert aside.found not in said


@pytest.mark.parametrize("aside", BUGS, ids=str)
def test_what_finds_the_bug_finds_nothing_once_it_is_repaired(aside: Aside, capsys: pytest.CaptureFixture[str]) -> None:
    for answer in [None, *(each.text for found, each in ANSWERS if found == aside and each.right)]:
        said = said_by(aside, repaired(aside, with_answer(aside, answer)), capsys)
        assert aside.found not in said, answer
        assert aside.sound in said, answer


@pytest.mark.parametrize("aside", [aside for aside in BUGS if aside.named], ids=str)
def test_the_lesson_names_the_line_that_repairs_the_bug(aside: Aside) -> None:
    _, _, after = find_day(aside.topic).lesson_path.read_text(encoding="utf-8").partition(cell_of(aside)[0].strip())
    for code in aside.named:
        assert any(code in right for _, right in aside.edits)
        assert f"`{code}`" in after.partition("\n## ")[0]


@pytest.mark.parametrize("aside", [aside for aside in BUGS if aside.exercise], ids=str)
def test_the_checks_of_the_exercise_refuse_the_bug_and_accept_its_repair(aside: Aside) -> None:
    for source, fails in ((cell_of(aside)[0], True), (repaired(aside, cell_of(aside)[0]), False)):
        namespace = names_of(aside.topic) | {"__name__": __name__}
        body = [
            node for node in ast.parse(source).body if aside.colleague in (getattr(node, "name", ""), ast.unparse(node).partition(" =")[0])
        ]
        exec(compile(ast.Module(body, []), "<colleague>", "exec"), namespace)
        namespace[aside.exercise] = namespace[aside.colleague]
        selected = select(aside.topic, exercise=aside.exercise, hidden=False, timing=False)
        verdicts = run_checks(aside.topic, selected, LocalStudent(namespace))
        assert any(verdict.failed for verdict in verdicts) == fails, [v.title for v in verdicts if v.failed]


NOTHING = [
    "None", "True", "'text'", "''", "[]", "()", "{}", "-1", "0", "2.5", "float('nan')", "float('inf')", "10**30", "1 + 2j", "...",
    "object()", "lambda x: x", "{1, 2}", "b'ab'", "(1, 'a')", "[None]", "[True, False]", "['a', 'b']", "[[]]", "[[1, 2], 3]",
    "torch.zeros(0)",
]  # fmt: skip
"""What nobody is asked for, and somebody types."""
ANYTHING = [
    *NOTHING, "range(4)", "[10**30] * 3", "[-1, -2]", "[0] * 8", "[float('nan')] * 8", "torch.tensor(3)", "torch.tensor([1.0, 2.0])",
    "[[1, 2], [3]]",
]  # fmt: skip
VALUES = [aside for aside in ASIDES if isinstance(node := cell_of(aside)[1], ast.Assign) and isinstance(node.targets[0], ast.Name)]


@pytest.mark.parametrize("aside", VALUES, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_whatever_is_typed_gets_a_line_and_no_traceback(aside: Aside, capsys: pytest.CaptureFixture[str]) -> None:
    for value in ANYTHING:
        said = said_by(aside, with_answer(aside, f"{aside.name} = {value}"), capsys)
        assert said.strip(), value
        assert aside.found not in said or value not in NOTHING, f"{value}: {said}"

"""Submissions that are more alike than the task explains: winnowed fingerprints of their tokens, through an inverted index.

Schleimer, Wilkerson and Aiken, Winnowing: local algorithms for document fingerprinting, SIGMOD 2003. A k-gram is K tokens in a row, where
all names that the submission chose itself count as the same; of each WINDOW k-grams the one with the least hash is a fingerprint. So a run
of K + WINDOW - 1 tokens that two have in common is always found, in any place and in any order of the cells.

Given text is removed first: the released notebook, its hints, the reference solutions and the correct specimens.
K-grams that more than a certain share of the class has are removed, too. The rest is evidence for a person, and no verdict.
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import re
import tokenize
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ...base.course_table import earlier_sources, solution_source
from ...base.parsing import parse
from ...base.specimen_files import SPECIMENS, find_specimens
from ...grading.tasks import Task
from ...lessons import Day, lesson, release_notebook_path
from ...lessons.marks import Definition
from ...sandbox.submission import BadSubmission, Cell, cell_source, submission_in
from ...sandbox.submitted_file import collect

K, WINDOW = 12, 8
"""The tokens of a k-gram, which is most of a line, and the k-grams of a window."""
RUN = K + WINDOW - 1
"""The tokens in a row that two must have in common to count: runs of this length are always found. Shorter runs happen by chance."""
MIN_TOKENS = 60
"""The fewest common tokens of a reported pair: four lines happen by chance."""
MIN_FINGERPRINTS = 3
MOST_COMPARED = 5_000
"""The maximum number of pairs that are compared token by token, those with the most fingerprints in common first."""
LEAST_COMMON, MOST_COMMON = 5, 50
"""The bounds for removing common k-grams: those of five submissions or fewer never are, those of more than fifty always."""
MAX_CELL_CHARACTERS = 200_000
MODULUS, BASE = (1 << 61) - 1, 1_000_003
NAME, STRING = "name", "string"
STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_START", tokenize.STRING)}
LAYOUT = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT, tokenize.ENCODING, tokenize.ENDMARKER}
SILENT = {tokenize.NL, tokenize.COMMENT}
OPENS, CLOSES = ("(", "[", "{"), (")", "]", "}")
FENCE = re.compile(r"^```(?:python)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """One cell. tokens: their texts, with one text for all chosen names; lines: each token's line, from 1; grams: each k-gram's hash."""

    name: str
    source: str
    tokens: Sequence[str]
    lines: array[int]
    grams: array[int]

    def covered(self, grams: set[int] | frozenset[int], least: int = K) -> set[int]:
        """Return the places of all tokens in runs of these k-grams. A run has at least `least` tokens."""
        places: set[int] = set()
        for inside, run in itertools.groupby(range(len(self.grams)), key=lambda start: self.grams[start] in grams):
            starts = list(run)
            if inside and len(starts) + K - 1 >= least:
                places.update(range(starts[0], starts[-1] + K))
        return places


@dataclass(frozen=True)
class Work:
    """The comparable part of a submission. left_out: a line for each cell that cannot be compared."""

    student: str
    units: tuple[Unit, ...]
    left_out: tuple[str, ...] = ()

    @property
    def grams(self) -> set[int]:
        return {gram for unit in self.units for gram in unit.grams}


@dataclass(frozen=True)
class Side:
    """One submission of a pair.

    tokens: the number of common tokens; own: the number of tokens that the task does not give; cells: (cell, common lines).
    """

    student: str
    tokens: int
    own: int
    cells: tuple[tuple[Unit, frozenset[int]], ...]


@dataclass(frozen=True)
class Pair:
    """Two submissions with common code that the task does not give and that few others in the class have."""

    first: Side
    second: Side

    @property
    def tokens(self) -> int:
        return min(self.first.tokens, self.second.tokens)


@dataclass(frozen=True)
class Found:
    """The result. pairs: most common tokens first; compared: the number of submissions.

    common: k-grams that more submissions have are ignored.
    """

    pairs: tuple[Pair, ...]
    compared: int
    common: int
    left_out: tuple[str, ...]


def alike(day: Day, tasks: Iterable[Task], share: float = 0.1) -> Found:
    """Return the similar pairs of a day's submissions. share: k-grams that a larger share of the class has are ignored."""
    works: list[Work] = []
    left_out: list[str] = []
    ours = our_cells(day)
    for task in tasks:
        try:
            work = read(task.student, submission_in(task.file or collect(task.path), day.slug, ours).cells)
        except (BadSubmission, OSError) as bad:
            left_out.append(f"{task.student}: {bad}")
            continue
        works.append(work)
        left_out += [f"{task.student}: {line}" for line in work.left_out]
    common = min(max(LEAST_COMMON, int(share * len(works))), MOST_COMMON)
    return Found(tuple(pairs(works, given(day), common)), len(works), common, tuple(left_out))


def pairs(works: Sequence[Work], base: frozenset[int], common: int) -> list[Pair]:
    """Return the pairs with at least MIN_TOKENS common tokens, without k-grams in `base` or in more than `common` submissions."""
    candidates = shared_fingerprints([fingerprints(work, base) for work in works], common)
    grams = {number: works[number].grams - base for number in {n for pair in candidates for n in pair}}
    in_both = {pair: grams[pair[0]] & grams[pair[1]] for pair in candidates}
    asked = {gram for both in in_both.values() for gram in both}
    held = Counter(gram for work in works for gram in asked & work.grams)
    too_common = {gram for gram, count in held.items() if count > common}
    own = {number: own_tokens(works[number], base) for number in grams}
    found = []
    for (first, second), both in in_both.items():
        rare = frozenset(both - too_common)
        pair = Pair(*(side(works[number], own[number], rare) for number in (first, second)))
        if pair.tokens >= MIN_TOKENS:
            found.append(pair)
    return sorted(found, key=lambda pair: (-pair.tokens, pair.first.student, pair.second.student))


def shared_fingerprints(sets: Sequence[set[int]], common: int) -> list[tuple[int, int]]:
    """Return the pairs with the most fingerprints in common, at least MIN_FINGERPRINTS, through an inverted index."""
    index: dict[int, list[int]] = {}
    for number, each in enumerate(sets):
        for fingerprint in each:
            index.setdefault(fingerprint, []).append(number)
    counts: Counter[tuple[int, int]] = Counter()
    for who in index.values():
        if 2 <= len(who) <= common:
            counts.update(itertools.combinations(who, 2))
    enough = [pair for pair, count in counts.items() if count >= MIN_FINGERPRINTS]
    return sorted(enough, key=lambda pair: (-counts[pair], pair))[:MOST_COMPARED]


def own_tokens(work: Work, base: frozenset[int]) -> list[set[int]]:
    """Return, for each cell, the places of the tokens that the student added to the given code."""
    return [set(range(len(unit.tokens))) - unit.covered(base) for unit in work.units]


def side(work: Work, own: Sequence[set[int]], rare: frozenset[int]) -> Side:
    cells: list[tuple[Unit, frozenset[int]]] = []
    tokens = 0
    for unit, mine in zip(work.units, own, strict=True):
        places = unit.covered(rare, least=RUN) & mine
        tokens += len(places)
        if places:
            cells.append((unit, frozenset(unit.lines[place] for place in places)))
    return Side(work.student, tokens, sum(map(len, own)), tuple(cells))


def fingerprints(work: Work, base: frozenset[int] = frozenset()) -> set[int]:
    return {each for unit in work.units for each in winnowed([gram for gram in unit.grams if gram not in base])}


def winnowed(grams: Sequence[int]) -> set[int]:
    """Return the smallest of each WINDOW consecutive k-grams, or of all if there are fewer."""
    if not grams:
        return set()
    return {min(grams[start : start + WINDOW]) for start in range(max(len(grams) - WINDOW + 1, 1))}


def read(student: str, cells: Iterable[Cell]) -> Work:
    """Return the tokens of a submission's own cells. A cell that is not Python is left out and reported."""
    codes: list[tuple[Cell, str, ast.Module, Names]] = []
    left_out: list[str] = []
    waiting = list(cells)
    while waiting:
        cell = waiting.pop(0)
        try:
            code, tree, names = parsed(cell.source)
        except ValueError as error:
            left_out.append(f"{cell.name} is left out: {error}")
            continue
        codes.append((cell, code, tree, names))
        texts, unknown = run_as_code(tree)
        waiting += [Cell(f"{cell.name}, text that runs in line {line}", text) for line, text in texts]
        left_out += [f"{cell.name} runs a string as code in line {line}; that code is not compared: read it yourself" for line in unknown]
    outside = frozenset(name for *_, names in codes for name in names.outside)
    attributes = frozenset(name for *_, names in codes for name in names.attributes)
    units = []
    for cell, code, tree, names in codes:
        both = list(described_tokens(code, tree, names.here | outside, attributes))
        tokens, lines = [text for text, _ in both], array("l", (line for _, line in both))
        units.append(Unit(cell.name, cell.source, tokens, lines, hashed(tokens)))
    return Work(student, tuple(units), tuple(left_out))


@dataclass(frozen=True)
class Names:
    """The names that a cell chooses.

    here: names that get a value; outside: names that other cells can call; attributes: attributes of the cell's own objects.

    An imported name belongs to its module and is left out, unless the import renames it.
    """

    here: frozenset[str]
    outside: frozenset[str]
    attributes: frozenset[str]


def parsed(source: str) -> tuple[str, ast.Module, Names]:
    """Return a cell's code without magics, its tree, and the names that the cell chooses. Raises ValueError if it is not Python."""
    if len(source) > MAX_CELL_CHARACTERS:
        raise ValueError(f"it has {len(source):,} characters, more than {MAX_CELL_CHARACTERS:,}")
    for code in (source, MAGIC.sub("", source)):
        try:
            tree = parse(code)
            return code, tree, names_chosen(tree)
        except SyntaxError as error:
            reason = f"it does not parse ({error.msg}, line {error.lineno})"
        except (ValueError, RecursionError, MemoryError) as error:
            reason = f"it cannot be parsed ({error or type(error).__name__})"
    raise ValueError(reason)


RUNS_TEXT = ("exec", "eval", "compile", "run_cell")


def run_as_code(tree: ast.Module) -> tuple[list[tuple[int, str]], list[int]]:
    """Return (line, text) of each string literal that is run as code, and the lines that run any other string."""
    texts: list[tuple[int, str]] = []
    unknown: list[int] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name not in RUNS_TEXT or (isinstance(node.func, ast.Attribute) and name != "run_cell"):  # re.compile, model.eval
            continue
        match node.args[0]:
            case ast.Constant(value=str(text)):
                texts.append((node.lineno, text))
            case ast.Call(func=ast.Name(id="compile")):
                pass  # that call is looked at itself
            case _:
                unknown.append(node.lineno)
    return texts, unknown


def inert(tree: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield (begin, end) of each statement that does nothing: `pass`, and a value by itself. Columns count bytes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Name)):
            yield (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def names_chosen(tree: ast.Module) -> Names:
    here: set[str | None] = set()
    attributes: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            here.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            attributes.add(node.attr)
        elif isinstance(node, ast.arg):
            here.add(node.arg)
        elif isinstance(node, Definition):
            here.add(node.name)
        elif isinstance(node, ast.alias):
            here.add(node.asname)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            here.add(node.name)
        if isinstance(node, ast.ClassDef):
            attributes |= {part.name for part in node.body if isinstance(part, Definition)}
    outside = {node.name for node in tree.body if isinstance(node, Definition)}
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    outside |= {target.id for target in targets if isinstance(target, ast.Name)}
    return Names(frozenset(name for name in here if name), frozenset(outside), frozenset(attributes))


def described_tokens(code: str, tree: ast.Module, names: frozenset[str], attributes: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield (text, line) of each token.

    All chosen names get one text, and all strings another. Layout, comments, docstrings, statements that do nothing, semicolons and doubled
    brackets are skipped. A name as in `dim=` between brackets stays, because it is a keyword argument or a parameter with a default.
    """
    before, depth = "", 0
    stream = [each for each in tokenize.generate_tokens(io.StringIO(code).readline) if each.type not in SILENT]
    idle, doubled = silent_places(code, tree), doubled_brackets(stream)
    for place, (each, after) in enumerate(itertools.pairwise(stream)):
        if each.type in LAYOUT or each.string == ";" or place in doubled:
            continue
        if any(begin <= each.start < end for begin, end in idle.get(each.start[0], ())):
            continue
        text = each.string
        depth += (text in OPENS) - (text in CLOSES) if each.type == tokenize.OP else 0
        if each.type in STRINGS:
            said = STRING
        elif each.type == tokenize.NUMBER:
            said = numeral(text)
        elif each.type != tokenize.NAME:
            said = text
        elif before == ".":
            said = NAME if text in attributes else text
        else:
            said = NAME if text in names and not (depth and after.string == "=") else text
        yield said, each.start[0]
        before = text


def silent_places(code: str, tree: ast.Module) -> dict[int, list[tuple[tuple[int, int], tuple[int, int]]]]:
    """Return {line: [(begin, end), ...]} of the statements that do nothing. Begin and end are (line, column), counted in characters."""
    lines = code.splitlines(keepends=True)
    found: dict[int, list[tuple[tuple[int, int], tuple[int, int]]]] = {}

    def in_characters(place: tuple[int, int]) -> tuple[int, int]:
        line = lines[place[0] - 1] if place[0] <= len(lines) else ""
        return place[0], len(line.encode("utf-8", "surrogatepass")[: place[1]].decode("utf-8", "ignore"))

    for begin, end in inert(tree):
        for line in range(begin[0], end[0] + 1):
            found.setdefault(line, []).append((in_characters(begin), in_characters(end)))
    return found


def doubled_brackets(stream: Sequence[tokenize.TokenInfo]) -> set[int]:
    """Return the places of brackets directly inside another pair, such as the inner pair of `((x))`."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for place, each in enumerate(stream):
        if each.string == "(" and each.type == tokenize.OP:
            opened.append(place)
        elif each.string == ")" and each.type == tokenize.OP and opened:
            partner[opened.pop()] = place
    inner = {place for place, end in partner.items() if partner.get(place - 1) == end + 1}
    return inner | {partner[place] for place in inner}


@cache
def numeral(text: str) -> str:
    """Return one text for all spellings of a number: 1, 1.0 and 1e0 are equal."""
    try:
        return str(complex(ast.literal_eval(text)))
    except (ValueError, OverflowError):
        return text


def hashed(tokens: Sequence[str]) -> array[int]:
    """Return the rolling hash (Karp and Rabin 1987) of each k-gram, the same in every process."""
    grams, leaves = array("Q"), pow(BASE, K, MODULUS)
    codes = [code_of(text) for text in tokens]
    value = 0
    for place, code in enumerate(codes):
        value = (value * BASE + code) % MODULUS
        if place >= K:
            value = (value - codes[place - K] * leaves) % MODULUS
        if place >= K - 1:
            grams.append(value)
    return grams


@cache
def code_of(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace")) + 1


def given(day: Day) -> frozenset[int]:
    """Return the k-grams of everything that a student was given, and of every answer that the course itself knows."""
    hints = [fence for ladder in lesson(day).hints.values() for hint in ladder for fence in FENCE.findall(hint.text)]
    versions = [each.text for each in find_specimens(SPECIMENS, [day.topic]) if each.right and not each.fault]
    sources = [*hints, solution_source(day.topic), *earlier_sources(day.topic).values(), *versions]
    found = read("", released_cells(day).values()).grams
    for source in sources:  # each by itself; of a hint that is half a line of code nothing is known
        found |= read("", [Cell("", source)]).grams
    return frozenset(found)


def our_cells(day: Day) -> dict[str, str]:
    """Return {cell id: source} of the released code cells that are not exercises, for `submission_in`."""
    exercises = {exercise.name for exercise in lesson(day).exercises}
    return {cell_id: cell.source for cell_id, cell in released_cells(day).items() if cell_id.removeprefix("exercise-") not in exercises}


def released_cells(day: Day) -> dict[str, Cell]:
    """Return {cell id: the cell} of the code cells of a released notebook."""
    cells = json.loads(release_notebook_path(day).read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: Cell(cell["id"], cell_source(cell) or "") for cell in cells if cell["cell_type"] == "code"}

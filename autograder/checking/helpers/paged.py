"""Helpers of the visible and the hidden checks of the paged cache.

A pool may give any free block, so no helper expects a certain block number. Lists of steps are played with the student's pool;
the helpers compute the expected state beside it: the number of free blocks, the slots of each text, the keys that are still known.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from autograder.authoring import CheckFailed, Suspects, equal, exception_names, that
from autograder.base.wording import counted
from autograder.checking.helpers.cached import tiny_config
from autograder.sandbox.protocol.batch import CallBatch, Result

Step = tuple[Any, ...]
LABELS = "abcd"
KEYS = tuple(name.encode() for name in ("rome", "paris", "oslo"))
PROMPTS = ([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 7, 9], [1, 2, 3, 4, 8, 8, 8, 8, 7, 6], [5, 6, 7, 8, 1, 2])
"""Texts of which three begin alike, for one block of 4 or for more."""


def integer(rng: torch.Generator, low: int, high: int) -> int:
    """Return a whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def one_of(rng: torch.Generator, choices: Sequence[Any]) -> Any:
    return choices[integer(rng, 0, len(choices) - 1)]


# ---- what should be ------------------------------------------------------------------------------------------------


@dataclass
class Books:
    """The expected holders of each block. Blocks have numbers of their own here, not those of the student's pool."""

    num_blocks: int
    holders: dict[int, int] = field(default_factory=dict)
    block_of: dict[Any, int] = field(default_factory=dict)
    key_of: dict[int, Any] = field(default_factory=dict)
    idle: list[int] = field(default_factory=list)  # the one idle longest is first
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def num_free(self) -> int:
        return self.num_blocks - len(self.holders)

    def take(self) -> tuple[int, int | None]:
        """Return (the new block, the idle block whose key was forgotten for it, or None)."""
        evicted = None
        if self.num_free == len(self.idle):
            evicted = self.idle.pop(0)
            self.forget(evicted)
        block = next(self.numbers)
        self.holders[block] = 1
        return block, evicted

    def share(self, block: int) -> None:
        if block in self.idle:
            self.idle.remove(block)
        self.holders[block] = self.holders.get(block, 0) + 1

    def release(self, block: int) -> None:
        self.holders[block] -= 1
        if not self.holders[block]:
            del self.holders[block]
            if block in self.key_of:
                self.idle.append(block)

    def publish(self, block: int, key: Any) -> None:
        if key not in self.block_of and block not in self.key_of:
            self.block_of[key], self.key_of[block] = block, key

    def forget(self, block: int) -> None:
        if (key := self.key_of.pop(block, None)) is not None:
            del self.block_of[key]

    def find(self, keys: Sequence[Any]) -> list[int]:
        return [self.block_of[key] for key in itertools.takewhile(self.block_of.__contains__, keys)]


class Played:
    """A list of steps, played in one batch; the checks of its results follow the order of the steps.

    script: the steps as Python code, which the student can replay. A call that changes something is written just before it is made, so that
    a report ends with the call that failed. names: {step: the name of its result in the script}.
    """

    def __init__(self, num_blocks: int, pool: str) -> None:
        self.batch, self.books = CallBatch(), Books(num_blocks)
        self.script: list[str] = []
        self.names: dict[int, str] = {}
        self.looks: list[tuple[int, Callable[[], None]]] = []
        self.write(f"pool = {pool}({num_blocks})")
        self.pool = self.called("pool", self.call(pool, num_blocks))

    def called(self, name: str, result: Result) -> Result:
        """Record the name that a result has in the script, and return the result."""
        self.names[result.step] = name
        return result

    def words(self, value: Any) -> str:
        """Return an object or an argument as the script writes it."""
        return self.names.get(value.step, "...") if isinstance(value, Result) else repr(value)

    def call(self, name: str, *args: Any) -> Result:
        return self.look(self.batch.call(name, *args), f"{name}(...)")

    def method(self, target: Result, name: str, *args: Any, refused: bool = False) -> Result:
        said = f"{self.words(target)}.{name}({', '.join(map(self.words, args))})"
        return self.look(self.batch.method(target, name, *args), said, refused=refused)

    def get(self, target: Result, name: str) -> Result:
        return self.look(self.batch.get(target, name), f"{self.words(target)}.{name}")

    def look(self, result: Result, said: str, *, refused: bool = False) -> Result:
        """Require that a step raises nothing, or OutOfBlocks if `refused`."""

        def demand() -> None:
            outcome = self.outcomes[result.step]
            if not outcome.played:
                raise CheckFailed("the steps cannot continue: an earlier step gave no object")
            if isinstance(outcome.error, NotImplementedError | CheckFailed):
                raise outcome.error
            names = exception_names(outcome.error) if outcome.error is not None else []
            if refused:
                got = f"{names[0]}: {outcome.error}" if names else "no exception"
                that("OutOfBlocks" in names, f"too few blocks are free for {said}", expected="OutOfBlocks", got=got)
            elif names:
                raise CheckFailed(f"{said} raises {names[0]}", expected="no exception", got=f"{names[0]}: {outcome.error}")

        self.after(demand)
        return result

    def after(self, look: Callable[[], None]) -> None:
        """Add a check of results for the script's last line: a function that raises CheckFailed."""
        self.looks.append((len(self.script), look))

    def write(self, line: str) -> None:
        self.script.append(line)

    def value(self, result: Result) -> Any:
        return self.outcomes[result.step].value

    def same(self, result: Result, want: Any, what: str, suspects: Suspects = ()) -> None:
        """Require that a step's result is `want`."""
        self.after(lambda: equal(self.value(result), want, what=what, suspects=suspects))

    def judge(self, student: Any) -> None:
        """Run the batch. Raise CheckFailed for the first check that fails, with the script up to its line."""
        self.outcomes = student.play(self.batch, stop=False)
        for lines, look in self.looks:
            try:
                look()
            except CheckFailed as failed:
                script = "; ".join(self.script[:lines])
                cause = None if failed.fact else failed.cause
                raise CheckFailed(
                    f"{failed.what}, after `{script}`", expected=failed.expected, got=failed.got, values=failed.values, cause=cause
                ) from None


def take_all(student: Any, pool_class: str, num_blocks: int) -> None:
    """Take every block of a pool, try one more, and give all of them back, in one batch."""
    played = Played(num_blocks, pool_class)
    played.write(f"{num_blocks:,} times pool.take()")
    taken = [played.method(played.pool, "take") for _ in range(num_blocks)]
    played.after(lambda: equal(sorted(map(played.value, taken)), list(range(num_blocks)), what="not every block was taken once"))
    played.same(played.get(played.pool, "num_free"), 0, "wrong num_free of a pool that is taken")
    played.write("pool.take()")
    played.method(played.pool, "take", refused=True)
    played.write("pool.release(block) for each")
    for block in taken:
        played.method(played.pool, "release", block)
    played.same(played.get(played.pool, "num_free"), num_blocks, "wrong num_free when all were released")
    played.judge(student)


def many_holders(student: Any, looked_at: Sequence[int]) -> None:
    """Share one block until it has the largest of these numbers of holders, check each number, and release the block as often.

    All steps are in one batch.
    """
    played, num_holders = Played(2, "BlockPool"), looked_at[-1]
    pool = played.pool
    played.write("block = pool.take()")
    block = played.called("block", played.method(pool, "take"))
    played.write(f"pool.share(block), {num_holders - 1} times")
    for holders in range(2, num_holders + 1):
        played.method(pool, "share", block)
        if holders in looked_at:
            played.same(played.method(pool, "holders", block), holders, "wrong number of holders")
    played.write("pool.release(block), as often")
    for _ in range(num_holders - 1):
        played.method(pool, "release", block)
    played.same(played.get(pool, "num_free"), 1, "wrong num_free with one holder left")
    played.method(pool, "release", block)
    played.same(played.get(pool, "num_free"), 2, "wrong num_free when the last holder has gone")
    played.judge(student)


# ---- random steps with a pool ----------------------------------------------------------------------------------------


def pool_steps(rng: torch.Generator, count: int, *, keys: bool) -> list[Step]:
    """Return random steps (what, label, argument). Each label stands for one holder of a block.

    With keys there are only four labels, so that published blocks are often released and become idle.
    """
    kinds = ["take", "take", "share", "release", "release"] + ["publish", "publish", "adopt", "adopt", "forget"] * keys
    labels = "abcd" if keys else "abcdefgh"
    return [(one_of(rng, kinds), one_of(rng, labels), integer(rng, 0, 99)) for _ in range(count)]


def play_pool(student: Any, steps: list[Step], num_blocks: int, *, keys: bool) -> None:
    """Play steps of `take`, `share` and `release`; with keys also of `publish`, `adopt`, `find` and `forget`."""
    played = Played(num_blocks, "PrefixPool" if keys else "BlockPool")
    books, pool = played.books, played.pool
    holds: dict[str, int] = {}
    taken: dict[int, Result] = {}
    for kind, label, number in steps:
        block = holds.get(label)
        key = KEYS[number % len(KEYS)]
        if kind == "take" and block is None:
            if books.num_free == 0:
                played.write("pool.take()")
                played.method(pool, "take", refused=True)
            else:
                _take(played, holds, taken, label)
        elif kind == "share" and block is not None:
            twin = next((free for free in "abcdefgh" if free not in holds), None)
            if twin is None:
                continue
            played.write(f"{twin} = {label}; pool.share({label})")
            played.method(pool, "share", played.called(label, taken[block]))
            books.share(block)
            holds[twin] = block
        elif kind == "release" and block is not None:
            played.write(f"pool.release({label})")
            played.method(pool, "release", played.called(label, taken[block]))
            books.release(holds.pop(label))
        elif kind == "publish" and block is not None:
            played.write(f"pool.publish({label}, {key!r})")
            played.method(pool, "publish", played.called(label, taken[block]), key)
            books.publish(block, key)
        elif kind == "forget" and block is not None and books.holders[block] == 1:
            played.write(f"pool.forget({label})")
            played.method(pool, "forget", played.called(label, taken[block]))
            books.forget(block)
        elif kind == "adopt" and block is None:
            found = books.find([key])
            played.write(f"[{label}] = pool.adopt([{key!r}])" if found else f"pool.adopt([{key!r}])")
            given = played.method(pool, "adopt", [key])
            _same_blocks(played, given, [taken[each] for each in found], f"pool.adopt([{key!r}]) gives other blocks")
            for each in found:
                books.share(each)
                holds[label] = each
        else:
            continue
        played.same(played.get(pool, "num_free"), books.num_free, "wrong pool.num_free")
        if keys and kind != "share":
            given = played.method(pool, "find", list(KEYS))
            _same_blocks(played, given, [taken[each] for each in books.find(KEYS)], f"pool.find({list(KEYS)}) gives other blocks")
    _look_at_pool(played, holds, taken, keys)
    played.judge(student)


def _take(played: Played, holds: dict[str, int], taken: dict[int, Result], label: str) -> None:
    books = played.books
    unwelcome = [("it has a holder", taken[each]) for each in books.holders]
    played.write(f"{label} = pool.take()")
    given = played.method(played.pool, "take")
    block, evicted = books.take()
    if evicted is None:
        unwelcome += [("it has a key, and one without is free", taken[each]) for each in books.idle]
    else:
        unwelcome += [("another one has been idle longer", taken[each]) for each in books.idle]
    taken[block], holds[label] = given, block

    def look() -> None:
        got = played.value(given)
        whole = isinstance(got, int) and not isinstance(got, bool) and 0 <= got < books.num_blocks
        that(whole, "pool.take() does not give one of the blocks", expected=f"0 to {books.num_blocks - 1}", got=got)
        for why, other in unwelcome:
            that(got != played.value(other), f"pool.take() gives block {got}: {why}", expected="another block", got=got)

    played.after(look)


def _same_blocks(played: Played, given: Result, taken: list[Result], what: str) -> None:
    played.after(lambda: equal(played.value(given), [played.value(each) for each in taken], what=what))


def _look_at_pool(played: Played, holds: dict[str, int], taken: dict[int, Result], keys: bool) -> None:
    """Check the number of holders of every known block, and the block found for every key."""
    books, pool = played.books, played.pool
    for label, block in holds.items():
        given = played.method(pool, "holders", played.called(label, taken[block]))
        played.same(given, books.holders[block], f"wrong pool.holders({label})")
    for block in books.idle:
        given = played.method(pool, "holders", played.called("a block", taken[block]))
        played.same(given, 0, "wrong pool.holders of a block that nobody holds")
    if keys:
        for key in KEYS:
            given = played.method(pool, "find", [key])
            _same_blocks(played, given, [taken[each] for each in books.find([key])], f"pool.find([{key!r}]) gives other blocks")


# ---- random steps with sequences -----------------------------------------------------------------------------------


@dataclass
class Row:
    """The expected state of a sequence: its text, and its blocks as numbered in Books."""

    result: Result
    text: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)


def sequence_steps(rng: torch.Generator, count: int, *, prefix: bool) -> list[Step]:
    """Return random steps (what, label, another label, a number)."""
    kinds = ["grow", "grow", "grow", "fork", "truncate", "free"] + ["start", "start", "start", "publish", "publish"] * prefix
    return [(one_of(rng, kinds), one_of(rng, LABELS), one_of(rng, LABELS), integer(rng, 0, 9)) for _ in range(count)]


class Sequences:
    """Steps of `grow`, `fork`, `truncate` and `free`; with prefix also of `start_sequence` and `publish_blocks`.

    memory: {slot: the text up to the token in this slot}. A key and a value depend only on this text.
    """

    def __init__(self, num_blocks: int, size: int, *, prefix: bool = False) -> None:
        self.played = Played(num_blocks, "PrefixPool" if prefix else "BlockPool")
        self.books, self.size = self.played.books, size
        self.rows: dict[str, Row] = {}
        self.memory: dict[int, list[int]] = {}
        self.tokens = itertools.count(100)

    def play(self, student: Any, steps: list[Step]) -> None:
        for kind, label, other, number in steps:
            row = self.rows.get(label)
            match kind:
                case "grow" if row is not None or number:
                    self.grow(label, [next(self.tokens) for _ in range(number)])
                case "fork" if row is not None and (other not in self.rows or not self.rows[other].text) and other != label:
                    self.fork(label, other)
                case "truncate" if row is not None:
                    self.truncate(label, max(0, len(row.text) - number))
                case "free" if row is not None:
                    self.truncate(label, 0, free=True)
                case "start" if row is None or not row.text:
                    text = PROMPTS[number % len(PROMPTS)]
                    self.start(label, text)
                case "publish" if row is not None:
                    self.publish(label)
                case _:
                    continue
        self.look_at_all()
        self.played.judge(student)

    def needed(self, row: Row, n: int) -> tuple[int, bool]:
        """Return (blocks for n more tokens, whether one of them is a copy)."""
        copy = n > 0 and len(row.text) % self.size != 0 and self.books.holders[row.blocks[-1]] > 1
        return -(-(len(row.text) + n) // self.size) - len(row.blocks) + copy if n else 0, copy

    def new(self, label: str) -> Row:
        self.played.write(f"{label} = PagedSequence(pool, {self.size})")
        row = self.rows[label] = Row(self.played.called(label, self.played.call("PagedSequence", self.played.pool, self.size)))
        return row

    def grow(self, label: str, tokens: list[int]) -> None:
        played, books = self.played, self.books
        row = self.rows.get(label) or self.new(label)
        n = len(tokens)
        needed, copy = self.needed(row, n)
        said = played.method(row.result, "blocks_for", n)
        room = -len(row.text) % self.size
        has = "The last block and its copy have" if copy else "The last block has"
        cause = f"{has} room for {counted(room, 'more token')}: the rest alone needs new blocks."
        suspects = [(-(-n // self.size) + copy, cause)] if room else []
        played.same(said, needed, f"wrong {label}.blocks_for({n})" + ", the copy of the last block included" * copy, suspects)
        refused = needed > books.num_free
        start, before = len(row.text), played.get(row.result, "blocks")
        played.write(f"{label}.grow({n})")
        pairs = played.method(row.result, "grow", n, refused=refused)
        others = [name for name, other in self.rows.items() if copy and other is not row and row.blocks[-1] in other.blocks]
        they_have = " and ".join(others) + (" has" if len(others) == 1 else " have")
        if not refused:
            if copy:
                new = books.take()[0]
                books.release(row.blocks[-1])
                row.blocks[-1] = new
            elif start % self.size and n:
                books.forget(row.blocks[-1])
            row.blocks += [books.take()[0] for _ in range(needed - copy)]
            row.text = row.text + tokens
        text, after = list(row.text), played.get(row.result, "blocks")

        def written() -> None:
            old, now = played.value(before), played.value(after)
            if refused:
                equal(now, old, what=f"a refused grow has changed {label}.blocks")
                return
            that(isinstance(now, list) and len(now) >= len(old), f"{label}.blocks has become shorter", got=now)
            if copy:
                what = f"{label} is about to write into block {old[-1]}, which {they_have} too"
                that(now[len(old) - 1] != old[-1], what, expected=f"a new block in its place in {label}.blocks", got=now)
                due, why = [(old[-1], now[len(old) - 1])], f"block {old[-1]} is part full, and {they_have} it too"
            else:
                due, why = [], self.nothing_to_copy(start, n)
            equal(played.value(pairs), due, what=f"{label}.grow({n}) gives other pairs (old block, new block) to be copied: {why}")
            for source, target in played.value(pairs):
                for place in range(self.size):
                    self.memory[target * self.size + place] = self.memory.get(source * self.size + place, [])
            for t in range(start, len(text)):
                that(t // self.size < len(now), f"{label} has no block for token {t}", got=now)
                self.memory[now[t // self.size] * self.size + t % self.size] = text[: t + 1]

        played.after(written)
        self.look(label)

    def nothing_to_copy(self, length: int, n: int) -> str:
        if n == 0:
            return "nothing will be written"
        return "the last block is full" if length % self.size == 0 and length else "no block is part full and held by others"

    def fork(self, label: str, other: str) -> None:
        row = self.rows[label]
        self.played.write(f"{other} = {label}.fork()")
        for block in row.blocks:
            self.books.share(block)
        self.rows[other] = Row(self.played.called(other, self.played.method(row.result, "fork")), list(row.text), list(row.blocks))
        self.look(other)

    def truncate(self, label: str, length: int, *, free: bool = False) -> None:
        row = self.rows[label]
        self.played.write(f"{label}.free()" if free else f"{label}.truncate({length})")
        while len(row.blocks) > -(-length // self.size):
            self.books.release(row.blocks.pop())
        row.text = row.text[:length]
        if free:
            self.played.method(row.result, "free")
        else:
            self.played.method(row.result, "truncate", length)
        self.look(label)

    def start(self, label: str, text: list[int]) -> None:
        self.played.write(f"{label} = start_sequence(pool, {text}, {self.size})")
        row = Row(self.played.called(label, self.played.call("start_sequence", self.played.pool, text, self.size)))
        ends = range(self.size, len(text), self.size)
        row.blocks = self.books.find([tuple(text[:end]) for end in ends])
        for block in row.blocks:
            self.books.share(block)
        row.text = text[: len(row.blocks) * self.size]
        self.rows[label] = row
        self.look(label)
        self.grow(label, text[len(row.text) :])

    def publish(self, label: str) -> None:
        row = self.rows[label]
        self.played.write(f"publish_blocks({label}, {row.text})")
        self.played.call("publish_blocks", row.result, list(row.text))
        for place, block in enumerate(row.blocks[: len(row.text) // self.size]):
            self.books.publish(block, tuple(row.text[: (place + 1) * self.size]))
        self.look(label)

    def look(self, touched: str) -> None:
        """Check the pool and the sequence of a step, in their state after the step."""
        played, row, num_free = self.played, self.rows[touched], self.books.num_free
        played.same(played.get(row.result, "length"), len(row.text), f"wrong {touched}.length")
        self.look_at_slots(touched, len(row.text), self.look_at_table(touched, row))
        played.same(played.get(played.pool, "num_free"), num_free, "wrong pool.num_free")

    def look_at_slots(self, label: str, length: int, given: Result) -> None:
        """Fail unless slots() follows the current table, even if it was called before the table changed."""
        played = self.played
        result = played.method(self.rows[label].result, "slots")

        def look() -> None:
            table = played.value(given)
            due = torch.tensor(self.slots(table, length), dtype=torch.int64)
            equal(played.value(result), due, what=f"wrong {label}.slots() for the table {table}")

        played.after(look)

    def look_at_table(self, label: str, row: Row) -> Result:
        """Fail unless a sequence has the right number of blocks and these contain its own text."""
        played, text = self.played, list(row.text)
        given = played.get(row.result, "blocks")

        def look() -> None:
            table, num_blocks = played.value(given), self.books.num_blocks
            that(isinstance(table, list), f"{label}.blocks is not a list", got=table)
            equal(len(table), -(-len(text) // self.size), what=f"wrong number of blocks of {label} for {counted(len(text), 'token')}")
            that(all(isinstance(block, int) and 0 <= block < num_blocks for block in table), f"{label} has no such block", got=table)
            for t, slot in enumerate(self.slots(table, len(text))):
                held = self.memory.get(slot, [])
                that(bool(held), f"slot {slot}, where token {t} of {label} should be, was never written")
                that(held == text[: t + 1], f"slot {slot}, where token {t} of {label} should be, holds the token of another text")

        played.after(look)
        return given

    def slots(self, table: list[int], length: int) -> list[int]:
        return [table[t // self.size] * self.size + t % self.size for t in range(length)]

    def look_at_all(self) -> None:
        """Check every sequence, and fail unless the pool and the tables agree."""
        played, num_blocks = self.played, self.books.num_blocks
        given = [self.look_at_table(label, row) for label, row in self.rows.items()]
        for (label, row), table in zip(self.rows.items(), given, strict=True):
            self.look_at_slots(label, len(row.text), table)
        holders = [played.method(played.pool, "holders", block) for block in range(num_blocks)]

        def look() -> None:
            tables = [played.value(each) for each in given]
            users = [sum(block in table for table in tables) for block in range(num_blocks)]
            got = [played.value(each) for each in holders]
            equal(got, users, what=f"pool.holders of the blocks 0 to {num_blocks - 1} is not how many of the tables name each")

        played.after(look)


# ---- keys ----------------------------------------------------------------------------------------------------------


def in_full_blocks(tokens: Sequence[int], size: int) -> list[Sequence[int]]:
    return [tokens[start : start + size] for start in range(0, len(tokens) // size * size, size)]


def chained(tokens: Sequence[int], size: int, salt: bytes = b"") -> list[bytes]:
    """Return the expected chain of keys, one for each full block of tokens."""
    return keys_of(in_full_blocks(tokens, size), hashlib.sha256(salt).digest())


def keys_of(
    blocks: list[Sequence[int]],
    first: bytes,
    *,
    chain: bool = True,
    wide: int = 8,
    order: Literal["little", "big"] = "little",
    last: bool = False,
) -> list[bytes]:
    """Return a key for each block, from the key before it and its tokens of `wide` bytes.

    The options are those of known mistakes. chain: whether the key before a block is the last block's, or `first` for all. last: whether
    it comes after the tokens.
    """
    keys: list[bytes] = []
    for block in blocks:
        before = keys[-1] if chain and keys else first
        numbers = b"".join(int(token).to_bytes(wide, order) for token in block)
        keys.append(hashlib.sha256(numbers + before if last else before + numbers).digest())
    return keys


NOT_CHAINED = "A key tells its own block alone: the key of the block before it has to go into it, too."


def mistaken_keys(tokens: Sequence[int], size: int, salt: bytes) -> list[tuple[list[bytes], str]]:
    """Return the keys that known mistakes give, each with a sentence about it."""
    begin, blocks = hashlib.sha256(salt).digest(), in_full_blocks(tokens, size)
    going_on = hashlib.sha256(begin)
    running = []
    for block in blocks:
        going_on.update(b"".join(token.to_bytes(8, "little") for token in block))
        running.append(going_on.digest())
    return [
        *((keys_of(blocks, first, chain=False), NOT_CHAINED) for first in (begin, salt, b"")),
        (keys_of(blocks, salt), "The key before the first block is SHA-256(salt), not the salt itself, and so without a salt, too."),
        (running, "One hash goes on over all blocks: each key is a new hash, of the key before it and of its block's tokens."),
        (keys_of(blocks, begin, order="big"), "The smallest byte of a token comes first: little-endian."),
        *((keys_of(blocks, begin, wide=wide), f"A token is 8 bytes, and here it is {wide}.") for wide in (4, 2)),
        (keys_of(blocks, begin, last=True), "The key before it comes first, then the tokens."),
    ]


# ---- memory --------------------------------------------------------------------------------------------------------


def filled(student: Any, num_blocks: int, size: int, config: Any = None, dtype: torch.dtype = torch.float64) -> Any:
    """Return the student's PagedKV with a number in every slot, because slots that were never written must not matter."""
    kv = student.PagedKV(config or tiny_config(), num_blocks, size, dtype=dtype)
    something = torch.full(tuple(kv.keys.shape), 0.7, dtype=dtype)
    write_all(kv, something, -something)
    return kv


def write_all(kv: Any, keys: Tensor, values: Tensor) -> None:
    """Fill the student's memory through its own `write`.

    The memory's keys and values may be views of one tensor, so they must not be replaced.
    """
    slots = torch.arange(keys.shape[1])
    for layer, (k, v) in enumerate(zip(keys, values, strict=True)):
        kv.write(layer, slots, k, v)


def attended(q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lengths: Tensor, size: int) -> Tensor:
    """Return the expected attention through tables, row by row and head by head, in float64."""
    B, H, _, _ = q.shape
    group = H // keys.shape[1]
    rows = []
    for b in range(B):
        n = int(lengths[b])
        slots = torch.tensor([int(tables[b, t // size]) * size + t % size for t in range(n)])
        k, v = (x.double()[slots].repeat_interleave(group, dim=1).transpose(0, 1) for x in (keys, values))  # (H, n, Dh)
        weights = (q[b].double() @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(dim=-1)
        rows.append(weights @ v)
    return torch.stack(rows)


def draw_table(
    rng: torch.Generator, lengths: Sequence[int], H: int, K: int, Dh: int, size: int, *, dtype: torch.dtype = torch.float64, spare: int = 3
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return q (B, H, 1, Dh), keys and values (num_slots, K, Dh), tables (B, M), lengths (B,). A row's blocks are anywhere in the memory.

    Slots that belong to no row contain large numbers. After a row's last block its table contains random blocks.
    """
    counts = [-(-n // size) for n in lengths]
    num_blocks = sum(counts) + spare
    order = torch.randperm(num_blocks, generator=rng).tolist()
    tables = torch.tensor([[one_of(rng, order) for _ in range(max(counts))] for _ in lengths])
    keys, values = (torch.full((num_blocks * size, K, Dh), large, dtype=torch.float64) for large in (50.0, 1000.0))
    for row, (n, count) in enumerate(zip(lengths, counts, strict=True)):
        mine = [order.pop() for _ in range(count)]
        tables[row, :count] = torch.tensor(mine)
        slots = torch.tensor([mine[t // size] * size + t % size for t in range(n)])
        keys[slots], values[slots] = torch.randn(2, n, K, Dh, generator=rng, dtype=torch.float64)
    q = torch.randn(len(lengths), H, 1, Dh, generator=rng, dtype=torch.float64)
    return q.to(dtype), keys.to(dtype), values.to(dtype), tables, torch.tensor(lengths)


def state_of(sequence: Any) -> dict[str, Any]:
    """Return the state of a sequence and its pool that a refused call must not change."""
    pool, blocks = sequence.pool, sequence.blocks
    return {"blocks": blocks, "length": sequence.length, "num_free": pool.num_free, "holders": [pool.holders(block) for block in blocks]}


def paged_logits(student: Any, model: Any, ids: Tensor, sizes: Sequence[int], sequence: Any, kv: Any) -> Tensor:
    """Feed the ids in chunks and return the logits of all positions. Check the sequence's length after each chunk."""
    pieces, length = [], int(sequence.length)
    for chunk in ids.split(list(sizes), dim=1):
        logits = student.forward_paged(model, chunk, sequence, kv)
        shape = tuple(logits.shape[:-1]) if isinstance(logits, Tensor) else None
        equal(shape, (1, chunk.shape[1]), what="wrong shape: logits (1, t, V) of every new token are expected")
        length += chunk.shape[1]
        equal(sequence.length, length, what="wrong length of the sequence after a chunk")
        pieces.append(logits)
    return torch.cat(pieces, dim=1)

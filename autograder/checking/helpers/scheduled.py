"""Helpers of the visible and the hidden checks of continuous batching.

Beside the student's scheduler, a `Desk` computes the expected state by the rules: the running and waiting requests, the tokens that
each is fed, the free blocks, and the keys that the pool still knows. Single calls on random states are judged one by one, so a mistake is
reported where it was made. Whole schedules are played in one message, with the text up to a token in place of its keys and values.

The rules leave two points open: whether a failed admission changes the keys that the pool knows, and whether a block is published once or
again. If one of these points would change a later result, another state or schedule is drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any

import torch

from autograder.authoring import CheckFailed, equal, that
from autograder.checking.helpers.paged import Books, Played, Step, chained, filled, integer, one_of
from autograder.sandbox.protocol.batch import Result

LABELS = "ABCDEFGH"
EOS = 7
VOCAB = 50


def says(text: Sequence[int]) -> int:
    """Return the token after a text. Every token of the text influences the result."""
    x = 0
    for token in text:
        x = (31 * x + token + 1) % 1_000_003
    return x % VOCAB


# ---- what should be ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Row:
    """The expected state of a request.

    blocks: its blocks as numbered in Books; None while the request waits, and after its end.
    """

    label: str
    prompt: list[int]
    new: int
    eos: int | None = None
    arrival: float = 0.0
    output: list[int] = field(default_factory=list)
    blocks: list[int] | None = None
    length: int = 0

    @property
    def text(self) -> list[int]:
        return self.prompt + self.output

    @property
    def remaining(self) -> int:
        return len(self.text) - self.length


Chunks = list[tuple[Row, int]]


@dataclass
class Desk:
    """The expected state of a scheduler. peeks, once: two choices that the rules leave open."""

    num_blocks: int
    size: int
    budget: int
    max_running: int
    peeks: bool = False
    once: bool = False

    def __post_init__(self) -> None:
        self.books = Books(self.num_blocks)
        self.waiting: list[Row] = []
        self.running: list[Row] = []

    def keys(self, text: Sequence[int]) -> list[tuple[int, ...]]:
        return [tuple(text[:end]) for end in range(self.size, len(text) + 1, self.size)]

    def needed(self, row: Row, n: int) -> int:
        return -(-(row.length + n) // self.size) - len(row.blocks or [])

    def grow(self, row: Row, n: int) -> None:
        assert row.blocks is not None
        if row.length % self.size:
            self.books.forget(row.blocks[-1])
        row.blocks += [self.books.take()[0] for _ in range(self.needed(row, n))]
        row.length += n

    def start(self, row: Row) -> None:
        row.blocks = self.books.find(self.keys(row.text[:-1]))
        for block in row.blocks:
            self.books.share(block)
        row.length = len(row.blocks) * self.size

    def free(self, row: Row) -> None:
        for block in reversed(row.blocks or []):
            self.books.release(block)
        row.blocks, row.length = None, 0

    def publish(self, row: Row, before: int = 0) -> None:
        for place, key in enumerate(self.keys(row.text[: row.length])):
            if not self.once or (place + 1) * self.size > before:
                self.books.publish((row.blocks or [])[place], key)

    def preempt(self, row: Row) -> None:
        self.running.remove(row)
        self.free(row)
        self.waiting.insert(0, row)

    def abort(self, row: Row) -> None:
        (self.waiting if row in self.waiting else self.running).remove(row)
        self.free(row)

    def feed(self) -> tuple[Chunks, list[Row]]:
        chunks: Chunks = []
        preempted: list[Row] = []
        left = self.budget
        while len(chunks) < len(self.running) and left:
            row = self.running[len(chunks)]
            n = min(row.remaining, left)
            if self.needed(row, n) > self.books.num_free:
                preempted.append(self.running[-1])
                self.preempt(self.running[-1])
                continue
            self.grow(row, n)
            chunks.append((row, n))
            left -= n
        return chunks, preempted

    def admit(self, chunks: Chunks) -> None:
        left = self.budget - sum(n for _, n in chunks)
        while self.waiting and left and len(self.running) < self.max_running:
            row = self.waiting[0]
            known = self.books.find(self.keys(row.text[:-1]))
            n = min(len(row.text) - len(known) * self.size, left)
            idle = sum(block not in self.books.holders for block in known)
            if -(-n // self.size) + idle > self.books.num_free:
                if not self.peeks:
                    self.start(row)
                    self.free(row)
                return
            self.start(row)
            self.grow(row, n)
            self.running.append(self.waiting.pop(0))
            chunks.append((row, n))
            left -= n

    def schedule(self) -> tuple[Chunks, list[Row]]:
        chunks, preempted = self.feed()
        if not preempted:
            self.admit(chunks)
        return chunks, preempted

    def update(self, chunks: Chunks, tokens: Sequence[int]) -> list[Row]:
        ended = []
        for (row, n), token in zip(chunks, tokens, strict=True):
            self.publish(row, row.length - n)
            if row.remaining:
                continue
            row.output.append(token)
            if token == row.eos or len(row.output) == row.new:
                self.running.remove(row)
                self.free(row)
                ended.append(row)
        return ended


def clocked(
    rows: list[Row], desk: Desk, seconds: Callable[[list[tuple[int, int]]], float], said: Callable[[str], int]
) -> tuple[dict[str, list[float]], list[Any]]:
    """Return (the times of each request's tokens, the calls of `seconds`) of a run on a virtual clock.

    said: returns a request's next token.
    """
    clock, come, order = 0.0, 0, sorted(rows, key=lambda row: row.arrival)
    arrivals = [row.arrival for row in order]
    times: dict[str, list[float]] = {row.label: [] for row in rows}
    asked = []
    while come < len(order) or desk.waiting or desk.running:
        idle = not (desk.waiting or desk.running)
        clock = max(clock, arrivals[come]) if idle else clock
        here = bisect_right(arrivals, clock)
        desk.waiting += order[come:here]
        come = here
        chunks, _ = desk.schedule()
        asked.append([(n, row.length) for row, n in chunks])
        clock += seconds(asked[-1])
        lengths = [len(row.output) for row, _ in chunks]
        desk.update(chunks, [said(row.label) for row, _ in chunks])
        for (row, _), length in zip(chunks, lengths, strict=True):
            if len(row.output) > length:
                times[row.label].append(clock)
    return times, asked


# ---- the student's side --------------------------------------------------------------------------------------------


class SchedulerScript(Played):
    """A list of steps for a scheduler, played in one batch. Each request has a label, and checks compare labels."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.num_blocks, "PrefixPool")
        self.desk = desk
        self.requests: dict[str, Result] = {}
        options = {"token_budget": desk.budget, "max_running": desk.max_running}
        self.write(f"s = Scheduler(pool, {desk.size}, token_budget={desk.budget}, max_running={desk.max_running})")
        self.scheduler = self.look(self.batch.call("Scheduler", self.pool, desk.size, **options), "Scheduler(...)")

    def request(self, row: Row) -> Result:
        """Return the student's Request of a waiting row."""
        options: dict[str, Any] = {}
        if row.eos is not None:
            options["eos_token_id"] = row.eos
        if row.output:
            options["output"] = list(row.output)
        arguments = "".join(f", {name}={value}" for name, value in options.items())
        self.write(f"{row.label} = Request({row.prompt}, {row.new}{arguments})")
        result = self.look(self.batch.call("Request", list(row.prompt), row.new, **options), "Request(...)")
        self.requests[row.label] = result
        return result

    def set(self, target: Result, name: str, value: Any) -> None:
        self.look(self.batch.set(target, name, value), name)

    def label(self, handle: Any) -> str:
        return next((label for label, result in self.requests.items() if self.value(result) == handle), "?")

    def labels(self, given: Any) -> Any:
        """Return a list of requests as their labels; return anything else unchanged."""
        return [self.label(each) for each in given] if isinstance(given, list | tuple) else given

    def chunks(self, given: Any) -> Any:
        """Return chunks as (label, n); return anything but a list of pairs unchanged."""
        if not isinstance(given, list | tuple) or not all(isinstance(each, list | tuple) and len(each) == 2 for each in given):
            return given
        return [(self.label(request), n) for request, n in given]

    def named(self, given: Result, want: list[Row], what: str) -> None:
        labels = [row.label for row in want]
        self.after(lambda: equal(self.labels(self.value(given)), labels, what=what))

    def look_at_plan(self, plan: Result, chunks: Chunks, preempted: list[Row]) -> None:
        """Check the preempted requests and the chunks of a plan."""
        due = [(row.label, n) for row, n in chunks]
        fed, gone = self.get(plan, "chunks"), self.get(plan, "preempted")
        self.named(gone, preempted, "wrong plan.preempted")
        self.after(lambda: equal(self.chunks(self.value(fed)), due, what="wrong plan.chunks"))

    def look_at_all(self, rows: Sequence[Row]) -> None:
        """Check running and waiting, each request, and the number of free blocks."""
        desk = self.desk
        self.named(self.get(self.scheduler, "running"), list(desk.running), "wrong s.running")
        self.named(self.get(self.scheduler, "waiting"), list(desk.waiting), "wrong s.waiting")
        for row in rows:
            self.look_at(row)
        self.same(self.get(self.pool, "num_free"), desk.books.num_free, "wrong pool.num_free")

    def look_at(self, row: Row) -> None:
        request = self.requests[row.label]
        self.same(self.get(request, "prompt"), list(row.prompt), f"wrong {row.label}.prompt")
        self.same(self.get(request, "output"), list(row.output), f"wrong {row.label}.output")
        sequence = self.get(request, "sequence")
        if row.blocks is None:
            self.after(lambda: that(self.value(sequence) is None, f"{row.label}.sequence is not None", expected="None", got="a sequence"))
            return
        self.after(lambda: that(self.value(sequence) is not None, f"{row.label}.sequence is None", expected="a sequence", got="None"))
        self.same(self.get(sequence, "length"), row.length, f"wrong {row.label}.sequence.length")

    def look_at_known(self, rows: Sequence[Row]) -> None:
        """Check how many blocks of each text the pool finds."""
        for row in rows:
            keys = chained(row.text, self.desk.size)
            want = len(self.desk.books.find(self.desk.keys(row.text)))
            given = self.method(self.pool, "find", keys)
            self.after(partial(self._as_many, given, want, row.label))

    def _as_many(self, given: Result, want: int, label: str) -> None:
        found = self.value(given)
        that(isinstance(found, list), "find gives no list", got=found)
        equal(len(found), want, what=f"wrong number of blocks of {label}'s text that the pool can find")


# ---- one call on a drawn state -------------------------------------------------------------------------------------


def board(rng: torch.Generator, *, waiting: int, known: int, chunk: bool = False) -> list[Step]:
    """Return random requests (kind, label, prompt, output, cached, fed, new, eos). chunk: running requests were fed in this step."""
    common = torch.randint(VOCAB, (12,), generator=rng).tolist()
    steps: list[Step] = []
    kinds = ["run"] * integer(rng, 1, 4) + ["wait"] * integer(rng, min(1, waiting), waiting) + ["known"] * integer(rng, 0, known)
    for label, kind in zip(LABELS, kinds, strict=False):
        prompt = common[: integer(rng, 0, 9)] + torch.randint(VOCAB, (integer(rng, 1, 6),), generator=rng).tolist()
        decodes = integer(rng, 0, 2) > 0
        again = integer(rng, 0, 1) > 0  # it gave way once, and a part of its text is computed again
        written = integer(rng, 0, 4) if kind == "wait" else integer(rng, 1, 5) * (decodes or again)
        output = torch.randint(VOCAB, (written,), generator=rng).tolist()
        total = len(prompt) + len(output)
        cached = total - 1 if decodes else integer(rng, 0, total - 1)
        fed = integer(rng, 1, total - cached) if integer(rng, 0, 2) else total - cached
        new = len(output) + integer(rng, 1, 3)
        steps.append((kind, label, prompt, output, cached, fed, new, one_of(rng, (None, EOS))))
    return steps


class Board:
    """A scheduler's state, set up step by step both in the student's code and in Desk, for one call."""

    def __init__(self, steps: list[Step], *, num_blocks: int, size: int, budget: int, max_running: int, chunk: bool, **open_: bool) -> None:
        self.desk = Desk(num_blocks, size, budget, max_running, **open_)
        self.played = SchedulerScript(self.desk)
        self.rows: list[Row] = []
        self.plan: Chunks = []
        for kind, label, prompt, output, cached, fed, new, eos in steps:
            row = Row(label, list(prompt), new, eos, output=list(output))
            if kind == "known":
                self.known(row)
            elif kind == "run":
                self.run(row, cached, fed, chunk)
            else:
                self.played.request(row)
                self.desk.waiting.append(row)
                self.rows.append(row)
        played, desk = self.played, self.desk
        for name, rows in (("running", desk.running), ("waiting", desk.waiting)):
            played.write(f"s.{name} = [{', '.join(row.label for row in rows)}]")
            played.set(played.scheduler, name, [played.requests[row.label] for row in rows])

    def known(self, row: Row) -> None:
        """Publish this text's blocks, as a request does when it ends."""
        desk, played = self.desk, self.played
        if desk.needed(Row("", [], 0, blocks=[]), len(row.text)) > desk.books.num_free:
            return
        desk.start(row)
        played.write(f"x = start_sequence(pool, {row.text}, {desk.size})")
        sequence = played.call("start_sequence", played.pool, row.text, desk.size)
        grown = len(row.text) - row.length
        desk.grow(row, grown)
        played.write(f"x.grow({len(row.text)} - x.length)")
        played.method(sequence, "grow", grown)
        played.write(f"publish_blocks(x, {row.text})")
        played.call("publish_blocks", sequence, row.text)
        desk.publish(row)
        desk.free(row)
        played.write("x.free()")
        played.method(sequence, "free")

    def run(self, row: Row, cached: int, fed: int, chunk: bool) -> None:
        desk, played = self.desk, self.played
        length = cached + (fed if chunk else 0)
        if -(-length // desk.size) > desk.books.num_free or len(desk.running) == desk.max_running:
            return
        if chunk and (fed > desk.budget - sum(n for _, n in self.plan)):
            return
        request = played.request(row)
        name = f"{row.label}.sequence"
        played.write(f"{name} = PagedSequence(pool, {desk.size})")
        sequence = played.call("PagedSequence", played.pool, desk.size)
        played.set(request, "sequence", sequence)
        row.blocks = []
        desk.grow(row, cached)
        played.write(f"{name}.grow({cached})")
        played.method(sequence, "grow", cached)
        desk.publish(row)
        played.write(f"publish_blocks({name}, {row.label}.tokens)")
        played.call("publish_blocks", sequence, row.text)
        if chunk:
            desk.grow(row, fed)
            played.write(f"{name}.grow({fed})")
            played.method(sequence, "grow", fed)
        desk.running.append(row)
        self.rows.append(row)
        if chunk:
            self.plan.append((row, fed))

    def given_plan(self) -> Result:
        pairs = [(self.played.requests[row.label], n) for row, n in self.plan]
        self.played.write(f"plan = Plan([{', '.join(f'({row.label}, {n})' for row, n in self.plan)}])")
        return self.played.call("Plan", pairs)

    def call(self, name: str, *args: Any, line: str) -> Result:
        self.played.write(line)
        return self.played.call(name, self.played.scheduler, *args)

    def preempt(self, which: int) -> None:
        if not self.desk.running:
            return
        row = self.desk.running[which % len(self.desk.running)]
        self.call("preempt", self.played.requests[row.label], line=f"preempt(s, {row.label})")
        self.desk.preempt(row)
        self.end()

    def feed(self) -> None:
        plan = self.call("feed_running", line="plan = feed_running(s)")
        chunks, preempted = self.desk.feed()
        self.played.look_at_plan(plan, chunks, preempted)
        self.end()

    def admit(self) -> None:
        plan = self.given_plan()
        self.call("admit", plan, line="admit(s, plan)")
        self.desk.admit(self.plan)
        self.played.look_at_plan(plan, self.plan, [])
        self.end()

    def update(self, tokens: Sequence[int]) -> None:
        plan, said = self.given_plan(), [tokens[i % len(tokens)] for i in range(len(self.plan))]
        ended = self.call("update", plan, said, line=f"update(s, plan, {said})")
        fed, want = list(self.plan), self.desk.update(self.plan, said)
        self.played.named(ended, want, "update gives other requests than those that ended")
        self.played.look_at_plan(plan, fed, [])
        self.end()

    def end(self) -> None:
        self.played.look_at_all(self.rows)
        self.played.look_at_known(self.rows)

    def judge(self, student: Any) -> None:
        self.played.judge(student)


def on_a_board(student: Any, steps: list[Step], call: Callable[[Board], None], *, chunk: bool = False, **numbers: int) -> None:
    """Play one call on a drawn state, unless its result depends on a choice that the rules leave open."""
    sides = [Board(steps, chunk=chunk, peeks=open_, once=open_, **numbers) for open_ in (False, True)]  # type: ignore[arg-type]
    for side in sides:
        call(side)
    if facts(sides[0].desk) == facts(sides[1].desk):
        sides[0].judge(student)


def facts(desk: Desk) -> Any:
    """Return the part of a desk's state that a student's scheduler shows."""
    rows = [(row.label, list(row.output), row.length) for row in desk.running]
    return rows, [row.label for row in desk.waiting], desk.books.num_free, sorted(desk.books.block_of)


# ---- whole schedules -----------------------------------------------------------------------------------------------


def arrivals(rng: torch.Generator, count: int) -> list[Step]:
    """Return random requests (label, prompt, new, eos, step of arrival, step at which it is given up or -1)."""
    common = torch.randint(VOCAB, (12,), generator=rng).tolist()
    steps: list[Step] = []
    for label in LABELS[:count]:
        prompt = common[: integer(rng, 0, 10)] + torch.randint(VOCAB, (integer(rng, 1, 8),), generator=rng).tolist()
        eos = one_of(rng, (None, EOS, says(prompt)))
        gone = integer(rng, 0, 20) if integer(rng, 0, 5) == 0 else -1
        steps.append((label, prompt, integer(rng, 1, 8), eos, integer(rng, 0, 8), gone))
    return steps


@dataclass
class Numbers:
    """A scheduler's numbers. room: the number of blocks beyond the largest need of one request."""

    size: int
    budget: int
    max_running: int
    room: int


def numbers(rng: torch.Generator) -> Numbers:
    running = integer(rng, 1, 4)
    return Numbers(one_of(rng, (1, 2, 4)), running + integer(rng, 0, 12), running, integer(rng, 0, 4))


def play_schedule(student: Any, steps: list[Step], given: Numbers) -> None:
    """Play a schedule to its end in one go, unless it depends on a choice that the rules leave open."""
    if not steps:
        return
    runs = [Run(steps, given, open_) for open_ in (False, True)]
    histories = [run.write() for run in runs]
    if histories[0] == histories[1]:
        runs[0].played.judge(student)


class Run:
    """A whole schedule, played step by step both in the student's code and in Desk.

    memory: {slot: the text up to the token that was last written into it}.
    """

    def __init__(self, steps: list[Step], given: Numbers, open_: bool) -> None:
        most = max(-(-(len(prompt) + new - 1) // given.size) for _, prompt, new, *_ in steps)
        self.desk = Desk(most + given.room, given.size, given.budget, given.max_running, open_, open_)
        self.played = SchedulerScript(self.desk)
        self.rows = {label: Row(label, prompt, new, eos) for label, prompt, new, eos, *_ in steps}
        self.coming = {label: (arrival, gone) for label, _, _, _, arrival, gone in steps}
        self.memory: dict[int, list[int]] = {}

    def write(self) -> list[Any]:
        """Play the steps. Return the visible state after each."""
        desk, played, history = self.desk, self.played, []
        last, step = max(arrival for arrival, _ in self.coming.values()), 0
        for row in self.rows.values():
            played.request(row)
        while step <= last or desk.waiting or desk.running:
            for label, (arrival, gone) in self.coming.items():
                row = self.rows[label]
                if arrival == step:
                    played.write(f"s.add({label})")
                    played.method(played.scheduler, "add", played.requests[label])
                    desk.waiting.append(row)
                if gone == step and (row in desk.waiting or row in desk.running):
                    played.write(f"abort(s, {label})")
                    played.call("abort", played.scheduler, played.requests[label])
                    desk.abort(row)
            if desk.waiting or desk.running:
                self.step()
            history.append(facts(desk))
            step += 1
        played.look_at_all(list(self.rows.values()))
        return history

    def step(self) -> None:
        desk, played = self.desk, self.played
        played.write("plan = s.schedule()")
        plan = played.method(played.scheduler, "schedule")
        chunks, preempted = desk.schedule()
        played.look_at_plan(plan, chunks, preempted)
        played.look_at_all([row for row, _ in chunks])
        slots = [played.method(played.get(played.requests[row.label], "sequence"), "slots") for row, _ in chunks]
        texts = [(row.label, row.text[: row.length], n) for row, n in chunks]
        played.after(lambda: self.look_at_slots(slots, texts))
        said = [says(row.text[: row.length]) for row, _ in chunks]
        played.write(f"update(s, plan, {said})")
        ended = played.call("update", played.scheduler, plan, said)
        want = desk.update(chunks, said)
        played.named(ended, want, "update gives other requests than those that ended")
        for row, _ in chunks:
            played.same(played.get(played.requests[row.label], "output"), list(row.output), f"wrong {row.label}.output")

    def look_at_slots(self, given: list[Result], texts: list[tuple[str, list[int], int]]) -> None:
        """Fail unless each slot that is read contains its own text after the writes of this step."""
        tables = [slots.tolist() if isinstance(slots := self.played.value(each), torch.Tensor) else slots for each in given]
        for table, (label, text, _) in zip(tables, texts, strict=True):
            equal(len(table) if isinstance(table, list) else table, len(text), what=f"wrong number of slots of {label}")
        written: set[int] = set()
        for table, (label, text, n) in zip(tables, texts, strict=True):
            for t in range(len(text) - n, len(text)):
                if table[t] in written:
                    raise CheckFailed(f"slot {table[t]} is written twice in one step, the second time for {label}")
                written.add(table[t])
                self.memory[table[t]] = text[: t + 1]
        for table, (label, text, _) in zip(tables, texts, strict=True):
            for t, slot in enumerate(table):
                ours = self.memory.get(slot) == text[: t + 1]
                that(ours, f"slot {slot}, where token {t} of {label} should be, holds the token of another text")


# ---- a scheduler by hand -------------------------------------------------------------------------------------------


def stricter(student: Any, scheduler: Any, request: Any, budget: int) -> None:
    """Replace a scheduler's `schedule` by one that feeds this waiting request at most `budget` tokens."""
    other = student.Scheduler(scheduler.pool, int(scheduler.block_size), token_budget=budget, max_running=1)
    other.waiting = [request]
    scheduler.schedule = other.schedule


def running(student: Any, scheduler: Any, prompt: list[int], cached: int, **options: Any) -> Any:
    """Return a request that runs, with room for `cached` tokens."""
    request = student.Request(prompt, options.pop("new", 4), **options)
    sequence = student.PagedSequence(scheduler.pool, int(scheduler.block_size))
    sequence.grow(cached)
    request.sequence = sequence
    scheduler.running = [*scheduler.running, request]
    return request


def scheduler_of(student: Any, num_blocks: int, size: int, budget: int, max_running: int) -> Any:
    return student.Scheduler(student.PrefixPool(num_blocks), size, token_budget=budget, max_running=max_running)


def fed(plan: Any, requests: Sequence[Any]) -> Any:
    """Return a plan's chunks as (index of the request, n)."""
    chunks = plan.chunks
    that(isinstance(chunks, list), "plan.chunks is not a list", got=chunks)
    return [(place(request, requests), n) for request, n in chunks]


def place(request: Any, requests: Sequence[Any]) -> int:
    return next((i for i, each in enumerate(requests) if each == request), -1)


def places(given: Any, requests: Sequence[Any]) -> Any:
    """Return the requests as their indices in a list."""
    return [place(each, requests) for each in given] if isinstance(given, list | tuple) else given


def queues(scheduler: Any, requests: Sequence[Any]) -> list[Any]:
    """Return [running, waiting], as indices into a list."""
    return [places(scheduler.running, requests), places(scheduler.waiting, requests)]


# ---- chunks and a model --------------------------------------------------------------------------------------------


class Texts:
    """Texts whose chunks are fed together, and the expected logits after each chunk, computed by the kit's own model."""

    def __init__(self, student: Any, model: Any, kit: Any, texts: Sequence[torch.Tensor], kv: Any, num_blocks: int, size: int) -> None:
        self.student, self.model, self.kit, self.texts, self.kv = student, model, kit, list(texts), kv
        pool = student.PrefixPool(num_blocks)
        self.sequences = [student.PagedSequence(pool, size) for _ in texts]
        self.lengths = [0] * len(texts)

    def step(self, pieces: Sequence[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Feed n tokens of a text for each (text, n); return the student's and the expected logits (R, V)."""
        spans = [(which, self.lengths[which], self.lengths[which] + n) for which, n in pieces]
        for which, begin, end in spans:
            self.sequences[which].grow(end - begin)
            self.lengths[which] = end
        ids = torch.cat([self.texts[which][:, begin:end] for which, begin, end in spans], dim=1)
        positions = torch.cat([torch.arange(begin, end) for _, begin, end in spans])
        bounds = list(accumulate((n for _, n in pieces), initial=0))
        want = [self.kit(self.texts[which][:, :end])[:, -1] for which, _, end in spans]
        flat = self.student.Flat(ids, positions, bounds)
        got = self.student.forward_ragged(self.model, flat, [self.sequences[which] for which, _ in pieces], self.kv)
        return got, torch.cat(want)

    def again(self, which: int, text: torch.Tensor) -> None:
        """Free a sequence for another text. A fork keeps the old blocks in use, so the new text gets other blocks."""
        self.sequences[which].fork()
        self.sequences[which].free()
        self.texts[which], self.lengths[which] = text, 0


def most_flops(config: Any, pieces: Sequence[tuple[int, int]]) -> int:
    """Return FLOPs of one pass for chunks (fed, cached afterwards): all weights for each token, the head for each chunk, all scores."""
    D, kv, heads = config.hidden_size, config.num_key_value_heads * config.head_dim, config.num_attention_heads * config.head_dim
    layer = 2 * D * (heads + kv) + 3 * D * config.intermediate_size
    tokens, keys = sum(n for n, _ in pieces), sum(length for _, length in pieces)
    products = tokens * config.num_hidden_layers * layer + len(pieces) * config.vocab_size * D
    return 2 * (products + 2 * tokens * keys * heads * config.num_hidden_layers)


class Served:
    """A student's engine that serves requests with `tiny`, and the expected state, `desk`. said: the greedy tokens of each request."""

    def __init__(self, student: Any, prompts: Sequence[list[int]], said: Sequence[list[int]], desk: Desk) -> None:
        self.student, self.desk, self.said, self.steps = student, desk, said, 0
        self.model, self.kv = student.model("tiny", dtype=torch.float64), filled(student, desk.num_blocks, desk.size)
        self.scheduler = scheduler_of(student, desk.num_blocks, desk.size, desk.budget, desk.max_running)
        self.requests = [student.Request(prompt, len(due)) for prompt, due in zip(prompts, said, strict=True)]
        self.rows = [Row(label, prompt, len(due)) for label, prompt, due in zip(LABELS, prompts, said, strict=False)]
        for request, row in zip(self.requests, self.rows, strict=True):
            self.scheduler.add(request)
            desk.waiting.append(row)

    @property
    def done(self) -> bool:
        return not self.desk.waiting and not self.desk.running

    def step(self) -> None:
        """Make one step in the engine and in the desk, and compare everything."""
        desk, s = self.desk, self.scheduler
        chunks, _ = desk.schedule()
        ended = desk.update(chunks, [self.said[self.rows.index(row)][min(len(row.output), row.new - 1)] for row, _ in chunks])
        given = self.student.engine_step(self.model, s, self.kv)
        self.steps += 1
        where = f"in step {self.steps}, budget {desk.budget}, {desk.num_blocks} blocks of {desk.size}, max_running {desk.max_running}"
        for name, got, want in (("s.running", s.running, desk.running), ("s.waiting", s.waiting, desk.waiting), ("result", given, ended)):
            equal(
                places(got, self.requests), [self.rows.index(row) for row in want], what=f"wrong {name}, as indices into the queue, {where}"
            )
        equal([each.output for each in self.requests], [row.output for row in self.rows], what=f"wrong outputs {where}")
        lengths = [0 if each.sequence is None else each.sequence.length for each in self.requests]
        equal(lengths, [row.length for row in self.rows], what=f"wrong numbers of tokens in the cache, request by request, {where}")

"""Scenarios for the checks of serving: a core with its expected state, readers that come and go, lost clients (`async_harness.py`)."""

from __future__ import annotations

from typing import Any

import torch

from autograder.authoring import CheckFailed, equal, that
from autograder.base.wording import counted

SECONDS = 0.02


def fraction(rng: torch.Generator) -> float:
    return torch.rand((), generator=rng, dtype=torch.float64).item()


def integer(rng: torch.Generator, low: int, high: int) -> int:
    """Return a random integer from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def reader(name: str, at: float, tokens: int, **more: Any) -> dict[str, Any]:
    """Return the plan of a reader that asks for `tokens` tokens at the time `at`.

    more: leaves_after, raises_after, cancelled_at, drops, never, pause.
    """
    return {"id": name, "at": at, "prompt": [len(name), 7, ord(name[0])], "params": {"max_tokens": tokens}, **more}


class Books:
    """An engine core for `AsyncEngine` that records every event.

    Requests run in the order of arrival, at most max_running at a time, and each gets one token a step.
    ends: {request: the number of tokens after which the core ends it early}. faults: {number of a step, from 1: the error in this step}.
    unserved: requests that `add` refuses. quiet: {request: the number of steps that feed it but give no token, as for a long prompt}.
    preempted: the number of preempted requests, which also wait.
    """

    def __init__(
        self, max_running: int, *, seconds: float = SECONDS, ends: dict[str, int] | None = None, faults: dict[int, str] | None = None,
        unserved: tuple[str, ...] = (), quiet: dict[str, int] | None = None, preempted: int = 0,
    ) -> None:  # fmt: skip
        self.max_running, self.seconds, self.ends, self.faults, self.unserved = max_running, seconds, ends or {}, faults or {}, unserved
        self.quiet, self.preempted = dict(quiet or {}), preempted
        self.waiting: list[str] = []
        self.running: list[str] = []
        self.let_in: dict[str, float] = {}
        """When each was no longer waiting."""
        self.limit: dict[str, int] = {}
        self.made: dict[str, int] = {}
        self.added: dict[str, float] = {}
        self.params: dict[str, Any] = {}
        self.aborted: dict[str, list[float]] = {}
        self.refused: dict[str, int] = {}
        """{request that could not be added: the number of waiting requests when it came}."""
        self.steps: list[tuple[float, list[str]]] = []
        self.ended: list[float] = []
        self.fed: dict[str, list[float]] = {}
        """When each token was there."""
        self.asked: list[float] = []
        self.notes: list[list[Any]] = []
        self.busy: set[float] = {0.0}
        self.wrong: list[str] = []
        self.due = 0.0
        """When the next step is to begin, where there is work."""
        self.stepping = False

    @property
    def num_tokens(self) -> int:
        return sum(len(fed) for _, fed in self.steps)

    def __call__(self, what: str, time: float, *given: Any) -> Any:
        if what == "ask":
            if given[0] == "has_work":
                self.asked.append(time)
            return {
                "has_work": bool(self.waiting or self.running), "num_waiting": len(self.waiting) + self.preempted,
                "num_running": len(self.running), "num_free_blocks": 8 - len(self.running),
            }[given[0]]  # fmt: skip
        self.busy.add(time)
        if what in ("add", "abort", "step", "stepped"):
            return getattr(self, what)(time, *given)
        self.notes.append([what, time, *given])
        return None

    def add(self, time: float, name: str, prompt: list[int], params: dict[str, Any]) -> str:
        if name in self.unserved:
            return "fault"
        if name in self.added:
            self.wrong.append(f"request {name} was added twice")
        if not self.waiting and not self.running and not self.stepping:
            self.due = time
        self.added[name], self.params[name] = time, [prompt, params]
        self.limit[name] = min(params["max_tokens"], self.ends.get(name, params["max_tokens"]))
        self.made[name] = 0
        self.waiting.append(name)
        return ""

    def abort(self, time: float, name: str) -> None:
        self.aborted.setdefault(name, []).append(time)
        for queue in (self.waiting, self.running):
            if name in queue:
                queue.remove(name)

    def step(self, time: float) -> dict[str, Any]:
        if self.stepping:
            self.wrong.append("a step was begun while another was under way")
        if not (self.waiting or self.running):
            self.wrong.append(f"a step without work, at {time:.4f} s")
        elif time != self.due:
            self.wrong.append(f"a step began at {time:.4f} s; there was work, and nobody stepped, since {self.due:.4f} s")
        self.stepping = True
        while self.waiting and len(self.running) < self.max_running:
            self.let_in[self.waiting[0]] = time
            self.running.append(self.waiting.pop(0))
        outputs = []
        for name in list(self.running):
            if self.quiet.get(name):
                self.quiet[name] -= 1
                continue
            outputs.append(output(name, self.made[name]))
            self.made[name] += 1
            if self.made[name] == self.limit[name]:
                self.running.remove(name)
        self.steps.append((time, [each[0] for each in outputs]))
        return {"seconds": self.seconds, "outputs": outputs, "fault": self.faults.get(len(self.steps), "")}

    def stepped(self, time: float) -> None:
        self.stepping = False
        self.ended.append(time)
        self.due = time
        if len(self.steps) not in self.faults:
            for name in self.steps[-1][1]:
                self.fed.setdefault(name, []).append(time)


def output(name: str, number: int) -> list[Any]:
    """Return the fields of a request's token, which differ for every token and contain the request's name."""
    token = 1000 * sum(map(ord, name)) + number
    return [name, token, -0.25 * (number + 1), [[token, -0.25], [number, -3.5]]]


def played(student: Any, books: Books, max_waiting: int, plan: list[dict[str, Any]]) -> Books:
    """Play a plan and compare the result with the rules."""
    student.scenario("serve", student.AsyncEngine, books, max_waiting, plan)
    judge(books, max_waiting, plan)
    return books


def played_at_the_same_time(
    student: Any, books: tuple[Books, Books], max_waiting: int, plans: tuple[list[dict[str, Any]], list[dict[str, Any]]]
) -> None:
    """Play two engines at the same time and compare each with the rules: neither may know the other's requests."""
    student.scenario("serve_two", student.AsyncEngine, *books, max_waiting, *plans)
    for its, plan in zip(books, plans, strict=True):
        own = {step["id"] for step in plan if "id" in step}
        for kind, time, *details in its.notes:
            if kind == "peek":
                foreign = [name for name in details[0] if name not in own]
                that(not foreign, f"`queues` of one engine has requests of another engine, at {time:.4f} s", got=foreign)
        judge(its, max_waiting, plan)


class AgainBooks(Books):
    """Books in which a request may reuse the id of a request that has ended."""

    def add(self, time: float, name: str, prompt: list[int], params: dict[str, Any]) -> str:
        if self.aborted.get(name):
            del self.added[name], self.aborted[name]
        return super().add(time, name, prompt, params)


def played_again(student: Any, books: AgainBooks, max_waiting: int, plan: list[dict[str, Any]]) -> None:
    """Play a plan that reuses ids, one request after the other. Raise CheckFailed unless every reader gets all its tokens."""
    student.scenario("serve", student.AsyncEngine, books, max_waiting, plan)
    if books.wrong:
        raise CheckFailed(books.wrong[0])
    for name in sorted({step["id"] for step in plan}):
        due = [output(name, i) for step in plan if step["id"] == name for i in range(step["params"]["max_tokens"])]
        got = [note[4] for note in books.notes if note[0] == "reader" and note[2:4] == [name, "token"]]
        equal(got, due, what=f"the outputs that the readers of {name} were given, whose id came again after it had ended")
    left = [state for kind, _, *state in books.notes if kind == "queues"]
    equal(left, [[[]]], what="`queues` after everybody has gone")


def judge(books: Books, max_waiting: int, plan: list[dict[str, Any]]) -> None:
    """Raise CheckFailed if a run breaks a rule that holds for every plan."""
    if books.wrong:
        raise CheckFailed(books.wrong[0])
    drained = min((step["at"] for step in plan if step.get("do") == "drain"), default=float("inf"))
    fault_times = [books.ended[number - 1] for number in books.faults if number <= len(books.ended)]
    for step in plan:
        if "id" in step:
            _judge_reader(books, max_waiting, step, step["at"] > drained, fault_times)
    for kind, time, *state in books.notes:
        if kind == "peek":
            open_then = sorted(name for name, at in books.added.items() if at < time and not any(t < time for t in books.aborted[name]))
            equal(state[0], open_then, what=f"`queues` at {time:.4f} s should hold the open requests alone")
        if kind == "queues":
            equal(state[0], [], what="`queues` after everybody has gone")
        if kind == "run":
            stopped = any(step.get("do") == "stop" for step in plan)
            equal(state[0], "cancelled" if stopped else "returned", what="what has become of `run`, drained, a second after the last work")
    rest = max([drained, *books.ended[-1:]])
    late = [time for time in books.asked if time > rest]
    if late:
        what = f"`run` had not returned at {late[0]:.4f} s: the engine was draining and the core had no work after {rest:.4f} s"
        raise CheckFailed(what, expected="`run` returns as soon as the core has no work left, whatever readers have still to read")
    idle = [time for time in books.asked if time not in books.busy]
    if idle:
        what = f"the core was asked for work at {idle[0]:.4f} s, when nothing had happened"
        raise CheckFailed(what, got=f"{counted(len(idle), 'time')} in vain")
    that(not (books.waiting or books.running), "requests are left in the core when everybody has gone", got=books.waiting + books.running)


def _judge_reader(books: Books, max_waiting: int, plan: dict[str, Any], late: bool, fault_times: list[float]) -> None:
    """Raise CheckFailed if the engine treats a reader or its request wrongly; late: the reader comes after a drain."""
    name = plan["id"]
    notes = [[time, kind, *rest] for what, time, who, kind, *rest in (n for n in books.notes if n[0] == "reader") if who == name]
    tokens = [[time, rest[0]] for time, kind, *rest in notes if kind == "token"]
    ends = [[time, kind, *rest] for time, kind, *rest in notes if kind in ("end", "left", "cancelled", "error")]
    if plan.get("never"):
        that(name not in books.added, f"request {name} was added, and nobody had asked for its first token")
        return
    that(len(ends) == 1, f"the reader of {name} came to no end")
    end, kind, what = ends[0]
    refused = what if kind == "error" and "status" in what else None
    if name in books.unserved:
        equal(_class(kind, what), "Fault", what=f"wrong result for the reader of {name}, a request that the core does not take")
        that(name not in books.aborted, f"{name} was aborted; it had never been added")
    elif late:
        that(name not in books.added, f"request {name} was added while the engine drains")
        _is_refusal(name, refused, 503, "shutting_down")
    elif name not in books.added:
        that(refused is not None, f"request {name} was not added, and got no RequestError", got=[kind, what])
        waiting = _waiting_at(books, end)
        that(waiting >= max_waiting, f"request {name} was refused while {waiting} waited; at most {max_waiting} may wait")
        _is_refusal(name, refused, 429, "queue_full")
        that(name not in books.aborted, f"{name} was aborted; it had never been added")
    else:
        _judge_adding(books, max_waiting, plan, refused)
        stays, fault = _expected_reading(books, plan, fault_times)
        if kind == "error" and fault is None and not plan.get("raises_after"):
            got = f"{what['kind']}: {what['message']}"
            raise CheckFailed(f"{name}'s reader got an exception, and no step failed while its request was open", got=got)
        _judge_tokens(books, plan, tokens, stays)
        _judge_end(books, plan, kind, what, stays, fault)
        aborts = books.aborted.get(name, [])
        equal(len(aborts), 1, what=f"how often {name} was aborted")
        equal(aborts[0], end if fault is None else fault, what=f"when {name} was aborted, in seconds")


def _judge_adding(books: Books, max_waiting: int, plan: dict[str, Any], refused: Any) -> None:
    name = plan["id"]
    waiting = _waiting_at(books, books.added[name])
    that(waiting < max_waiting, f"request {name} was added while {waiting} waited; at most {max_waiting} may wait")
    that(refused is None, f"request {name} was added, and refused", got=refused)
    equal(books.added[name], plan["at"], what=f"when {name} was added, in seconds")
    equal(books.params[name][0], plan["prompt"], what=f"{name}'s prompt in the core")
    equal({key: books.params[name][1][key] for key in plan["params"]}, plan["params"], what=f"{name}'s params in the core")


def _expected_reading(books: Books, plan: dict[str, Any], fault_times: list[float]) -> tuple[int, float | None]:
    """Return (the number of tokens that a reader must get, the time of a failing step that ends its reading early, or None)."""
    name, limit = plan["id"], plan["params"]["max_tokens"]
    stays = min(limit, plan.get("leaves_after", limit), plan.get("raises_after", limit))
    fed = books.fed.get(name, [])
    if plan.get("cancelled_at") is not None:
        stays = min(stays, sum(time < plan["cancelled_at"] for time in fed))
    fault = next((time for time in sorted(fault_times) if books.added[name] < time), None)
    if fault is None or plan.get("cancelled_at", float("inf")) < fault:
        return stays, None
    before_fault = sum(time < fault for time in fed)
    return (before_fault, fault) if before_fault < stays else (stays, None)


def _judge_tokens(books: Books, plan: dict[str, Any], tokens: list[list[Any]], stays: int) -> None:
    name = plan["id"]
    equal([token for _, token in tokens], [output(name, i) for i in range(stays)], what=f"the outputs that {name}'s reader was given")
    if not plan.get("pause"):
        due = books.fed.get(name, [])[:stays]
        equal([time for time, _ in tokens], due, what=f"when {name}'s reader was given them, in seconds")


def _judge_end(books: Books, plan: dict[str, Any], kind: str, what: Any, stays: int, fault: float | None) -> None:
    name = plan["id"]
    if fault is not None:
        that(kind == "error", f"a step raised, and the reader of {name} does not know", got=[kind, what])
        due = books.faults[books.ended.index(fault) + 1]
        equal([what["kind"], what["message"]], ["Fault", due], what=f"the exception that {name}'s reader got")
    elif plan.get("raises_after"):
        equal(_class(kind, what), "Fault", what=f"how {name}'s reading ended")
    elif plan.get("cancelled_at") is not None and stays < plan["params"]["max_tokens"]:
        equal(kind, "cancelled", what=f"how {name}'s reading ended")
    else:
        equal(kind, "left" if stays == plan.get("leaves_after") else "end", what=f"how {name}'s reading ended")


def _class(kind: str, what: Any) -> str:
    return str(what["kind"]) if kind == "error" else kind


def _is_refusal(name: str, refused: Any, status: int, code: str) -> None:
    that(refused is not None, f"request {name} was to be refused with status {status}")
    error = refused["body"].get("error", {})
    equal([refused["status"], error.get("code")], [status, code], what=f"the status and code of {name}'s refusal")
    that(isinstance(error["message"], str) and error["message"], f"{name}'s refusal has no message", got=error["message"])


def _waiting_at(books: Books, time: float) -> int:
    """Return the number of requests that waited just before this time. No step may begin or end at this time."""
    waiting = books.preempted
    for name, at in books.added.items():
        first = books.let_in.get(name, float("inf"))
        gone = min(books.aborted.get(name, [float("inf")]))
        waiting += at < time and first >= time and gone >= time
    return waiting


# ---- answers -------------------------------------------------------------------------------------------------------


class Answer:
    """The result of a call of `send_events`.

    sent: [[time, message], ...]. events: [[time, what], ...]. returned: [time, error, listening].
    """

    def __init__(self, student: Any, **plan: Any) -> None:
        self.sent: list[list[Any]] = []
        self.finished: list[float] = []
        self.events: list[list[Any]] = []
        self.returned: list[Any] = []
        self.tasks = 0
        self.error: Any = None
        plan = {"events": [], "messages": [], **plan}
        student.scenario("answer", student.send_events, self._tell, plan)
        made = sum(what == "made" for _, what in self.events)
        closed = [time for time, what in self.events if what == "closed"]
        begun = any(what == "begun" for _, what in self.events)
        that(bool(self.returned), "the answer has not returned")
        time, self.error, listening = self.returned
        if begun:
            that(bool(closed) and closed[0] <= time, "the events were not closed when the answer returned", got=f"{made} events were made")
        others = [message["type"] for at, message in plan["messages"] if at == time and message["type"] != "http.disconnect"]
        ended = bool(self.sent) and not self.sent[-1][1].get("more_body", self.sent[-1][1].get("type") == "http.response.start")
        if others and made < len(plan["events"]) and self.error is None and not ended:
            what = f"`receive` gave {others[0]}, and the answer ended there, at {time:.4f} s"
            raise CheckFailed(what, expected="it goes on: only http.disconnect says that the client has left", got="no more was sent")
        equal(listening, 0, what="how many calls of `receive` still waited when the answer had returned")
        equal(self.tasks, 0, what="how many tasks were left when the answer had returned")
        that(all(at <= time for at, _ in self.sent), "something was sent when the answer had returned")

    def _tell(self, what: str, time: float, *given: Any) -> None:
        match what:
            case "send":
                self.sent.append([time, given[0]])
            case "sent":
                self.finished.append(time)
            case "events":
                self.events.append([time, given[0]])
            case "returned":
                self.returned = [time, *given]
            case "after":
                self.tasks = given[0]

    @property
    def times(self) -> list[float]:
        return [time for time, _ in self.sent]

    @property
    def bodies(self) -> list[bytes]:
        return [message.get("body", b"") for _, message in self.sent if message.get("type") == "http.response.body"]

    @property
    def closed(self) -> float:
        return next(time for time, what in self.events if what == "closed")


def whole(answer: Answer, events: list[bytes], *, ended: bool = True) -> None:
    """Fail unless an answer has one start, one message for each event, and, if `ended`, an empty last message."""
    kinds = [message.get("type") for _, message in answer.sent]
    due = ["http.response.start"] + ["http.response.body"] * (len(events) + ended)
    equal(kinds, due, what="the types of the messages that were sent")
    start = answer.sent[0][1]
    equal(start.get("status"), 200, what="wrong status")
    equal(answer.bodies, events + [b""] * ended, what="the bodies that were sent")
    # An absent more_body is false: ASGI's default.
    more = [message.get("more_body", False) for _, message in answer.sent[1:]]
    equal(more, [True] * len(events) + [False] * ended, what="more_body of each body")


def headers_of(answer: Answer) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for name, value in answer.sent[0][1].get("headers", []):
        that(isinstance(name, bytes) and isinstance(value, bytes), "headers are pairs of bytes", got=[name, value])
        that(name == name.lower(), "the names of headers are in lower case", got=name)
        found[name] = value
    return found


# ---- load ----------------------------------------------------------------------------------------------------------


def loaded(
    student: Any,
    arrivals: list[float],
    plans: list[dict[str, Any]],
    *,
    start: float = 0.0,
    late: float = 0.0,
    ahead: float = 0.0,
    tick: float = 0.0,
) -> tuple[list[Any], list[list[Any]], float]:
    """Return (traces, sends, the seconds of the run).

    A trace is [arrival, token times] or None. A send is [time, request].
    """
    sends: list[list[Any]] = []
    clock = (start, late, ahead, tick)
    got = student.scenario("load", student.run_load, lambda what, time, i: sends.append([time, i]), arrivals, plans, *clock)
    return got.result, sends, got.seconds - start

"""A time limit for code in this process: an exception, raised again and again, stops endless code."""

from __future__ import annotations

import _thread
import ctypes
import itertools
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from ..process.worker import Worker, is_student_file
from .limits import stopped_after

TICK_SECONDS = 0.1
"""Seconds between looks at the clock."""
SAY_SECONDS = 5.0
"""Seconds after which a message says how to stop code that cannot be stopped from within."""
MAX_LINES, MAX_FRAMES = 6, 100


class TimeoutExpired(BaseException):
    """The end of a call at its time limit. It is not an Exception, so a student's `except Exception` does not catch it."""


class _Moment:
    """An object that is freed at the end of the call that made it."""


class _Reminder(weakref.ref[Any]):
    """A weak reference that rings the alarm again as soon as its object is freed.

    After a bare `except:` has swallowed a TimeoutExpired, the alarm rings at the next line, which no `try` of the same loop covers. C code
    passes this reference to `interrupt_main` as the signal number, so no Python line of ours runs in between.
    """

    def __index__(self) -> int:
        return int(signal.SIGALRM)


class Alarm:
    """A time limit for a student's code.

    `with Alarm(3.0, 4.0, name, tell) as alarm:` stops the code inside after 3 s of this thread's processor time, or 12 s of wall time.

    Without SIGALRM, or outside the main thread, the alarm stops nothing: it calls `tell` after SAY_SECONDS.
    """

    def __init__(self, seconds: float, wall_factor: float, name: str, tell: Callable[[str], None] | None = None) -> None:
        self.seconds, self.wall_factor, self.name, self.tell = seconds, wall_factor, name, tell
        self.message = ""
        """The reason for the alarm; empty if it did not ring."""
        self.over, self.waiting = True, False
        """Two flags: no code runs under the alarm; the checks' own functions run."""
        self.lines: list[str] = []
        self.reminder: _Reminder | None = None
        self.rang_at = (0, 0)
        """The frame's id and the place in its code of the latest TimeoutExpired."""
        self.timer: threading.Timer | None = None

    def __enter__(self) -> Alarm:
        self.cpu, self.wall = time.thread_time(), time.monotonic()
        self.over = False
        self.armed = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
        if self.armed:
            self.old_handler = signal.signal(signal.SIGALRM, self._look)
            self.old_timer = signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS)
        elif self.tell is not None:
            text = f"{self.name} is still running after {SAY_SECONDS:g} s. Does it end? The square button (Interrupt) stops it."
            self.timer = threading.Timer(SAY_SECONDS, self.tell, [text])
            self.timer.daemon = True
            self.timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.over, self.reminder = True, None
        if self.timer is not None:
            self.timer.cancel()
        if self.armed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self.old_handler)
            remaining, interval = self.old_timer
            if remaining:
                signal.setitimer(signal.ITIMER_REAL, max(remaining - (time.monotonic() - self.wall), 1e-6), interval)

    def used(self) -> float:
        """Return the seconds that count against the limit."""
        return max(time.thread_time() - self.cpu, (time.monotonic() - self.wall) / self.wall_factor)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the clock: time in the checks' own functions is not the student's."""
        cpu, wall = time.thread_time(), time.monotonic()
        self.waiting = True
        try:
            yield
        finally:
            self.waiting = False
            self.cpu += time.thread_time() - cpu
            self.wall += time.monotonic() - wall

    def ring(self, message: str, frame: FrameType) -> None:
        """Stop the student's code, now and as often as it continues. Raises TimeoutExpired."""
        if not self.message:
            self.message = message
            inside = itertools.takewhile(lambda each: each[0].f_code is not Worker.handle.__code__, traceback.walk_stack(frame))
            stack = traceback.StackSummary.extract(inside, limit=MAX_FRAMES)
            self.lines = [f"{f.name}, line {f.lineno}: {f.line}" for f in stack if is_student_file(f.filename)][:MAX_LINES][::-1]
        error = TimeoutExpired(self.message)
        if self.armed:
            self.reminder = _Reminder(error, _thread.interrupt_main)  # type: ignore[arg-type]
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame, which could not be freed

    def look_at(self, thread: int) -> None:
        """Stop code in another thread, as the signal stops code in this one.

        Python raises TimeoutExpired in that thread, as often as the code continues.
        """
        frame = sys._current_frames().get(thread)
        if self.over or self.waiting or frame is None or time.monotonic() - self.wall < self.seconds * self.wall_factor:
            return
        if in_students_code(frame):
            self.message = self.message or stopped_after(self.seconds)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeoutExpired))

    def _look(self, number: int, frame: FrameType | None) -> Any:
        if self.over:
            return
        signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS)
        if frame is not None and (self.message or self.used() > self.seconds) and in_students_code(frame):
            here = id(frame), frame.f_lasti
            if here == self.rang_at:
                self._look_once_more()
            else:
                self.rang_at = here
                waited = time.thread_time() - self.cpu < self.seconds
                self.ring(stopped_after(self.seconds, waited=waited), frame)

    def _look_once_more(self) -> None:
        """Ring again at the next jump: code here swallowed the last TimeoutExpired and would swallow another one.

        Python 3.12 jumps from the end of an `except` to the last line of its own `try` and handles signals there. Python 3.11 and 3.13
        handle signals outside the `try`.
        """
        self.rang_at = 0, 0
        moment = _Moment()
        self.reminder = _Reminder(moment, _thread.interrupt_main)  # type: ignore[arg-type]


def in_students_code(frame: FrameType) -> bool:
    """Return whether this frame works for a student's function, not for a function of the checks that the student's function calls."""
    for outer, _ in traceback.walk_stack(frame):
        if outer.f_code is Worker.ask_back.__code__:
            return False
        if outer.f_code is Worker.handle.__code__:
            return True
    return False

"""Permission to use AMX, requested once in a process, before its first instruction.

AMX's registers have 8 KB, which Linux saves only for processes that have asked for it. An instruction without this permission ends the
process, and so does an instruction that a virtual machine promises but lacks. So a forked child computes the first product.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
from numba import typeof
from numba.core.registry import cpu_target

from .amx import SIDE, aligned, configuration, configure, multiply4_by_amx, release, split
from .compiled import compile_once

VARIABLE, OFF = "COURSE_AMX", "off"
LANES = (0,) * SIDE
ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18
"""Linux's numbers on x86-64 for the system call, its command, and the registers."""


@compile_once
def trial(isa, config, tiles, x, operands, panel, out):
    """Multiply rows x by a weight, (tiles, blocks, bytes), by AMX."""
    blocks = tiles.shape[1]
    configure(isa, config.ctypes.data)
    split(isa, x.ctypes.data, x.strides[0], len(x), blocks, operands.ctypes.data, operands.strides[0])
    multiply4_by_amx(isa, tiles.ctypes.data, 0, len(tiles), operands, len(x), panel, out, blocks)
    release(isa)


def is_exact() -> Callable[[], bool]:
    """Compile the trial, and return a function that runs it on small whole numbers and returns True if all sums are exact."""
    rng, blocks = np.random.default_rng(0), 3
    numbers = rng.integers(0, 256, (2, blocks, 16, SIDE), np.uint8)
    scales = np.broadcast_to(np.array([1, -8], np.float16).repeat(SIDE).view(np.uint8), (2, blocks, 4 * SIDE))
    tiles = np.concatenate([numbers.reshape(2, blocks, 16 * SIDE), scales], axis=-1)
    four = numbers.reshape(2, blocks, 4, SIDE, 4)
    weight = np.concatenate([four & 15, four >> 4], axis=2).astype(np.int64) - 8  # (2, blocks, 8, SIDE, 4)
    weight = weight.transpose(0, 3, 1, 2, 4).reshape(2 * SIDE, 32 * blocks)
    x = rng.integers(-1000, 1001, (2 * SIDE, 32 * blocks))
    operands, panel = (aligned(shape, np.uint16) for shape in [(2, blocks, 2, SIDE, 32), (blocks, 2, 2, SIDE, 32)])
    out = np.zeros((2 * SIDE, 2 * SIDE), np.float32)
    given = (LANES, configuration(), tiles, x.astype(np.float32), operands, panel, out)
    trial.compile(tuple(typeof(each) for each in given))

    def run() -> bool:
        trial(*given)
        return bool((out == x @ weight.T).all())

    return run


def request() -> str | None:
    """Ask Linux for the registers, for all threads of this process. Return the reason if Linux refuses, else None."""
    if not sys.platform.startswith("linux"):
        return "the permission is requested on Linux only"
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) != 0:
        return f"Linux does not permit it: {os.strerror(ctypes.get_errno())}"
    return None


def in_a_fork(test: Callable[[], bool]) -> str | None:
    """Run a test in a fork of this process, since the test may crash. Return the reason if the test fails, else None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, of threads: the fork calls compiled code and ends
        try:
            child = os.fork()
        except OSError as error:
            return f"it could not be tested: {error.strerror}"
    if child == 0:
        passed = False
        try:
            faulthandler.disable()  # the parent reports
            passed = test()
        finally:
            os._exit(not passed)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"its test ended with {signal.Signals(os.WTERMSIG(status)).name}"
    return "its test gave other numbers" if status else None


def refusal() -> str | None:
    """Return the reason why AMX may not be used on this processor, which has it, or None."""
    if "+amx-bf16" not in cpu_target.target_context.codegen().magic_tuple()[2].split(","):
        return "numba compiles for a processor without it"
    return request() or in_a_fork(is_exact())


@cache
def granted() -> bool:
    """Return True if AMX may be used on this processor, which has it. Otherwise print the reason, except with COURSE_AMX=off."""
    if os.environ.get(VARIABLE) == OFF:
        return False
    if (reason := refusal()) is not None:
        print(f"Engine: AMX is not used ({reason}); prompts are read by AVX-512", flush=True)
    return reason is None

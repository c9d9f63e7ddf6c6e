"""The confinement of a worker before it reads a line of a submission.

It runs in the forked child, in this order: user, limits, no_new_privs, Landlock (files), seccomp (system calls). None of it can be undone.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from . import landlock, syscalls

try:
    import resource
except ImportError:  # Windows has none: it opens notebooks and grades nothing
    resource = None  # type: ignore[assignment]

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
FIRST_UID = 200_000
NUM_UIDS = 10_000
OPEN_FILES = 256
THREADS = 256

LEVELS = ("namespaces", "landlock", "seccomp", "none")
"""Isolation levels, best first."""


@dataclass(frozen=True)
class Confinement:
    """The settings of a worker's confinement.

    level: one of LEVELS. memory_bytes: bytes that a submission may map beyond those mapped at the fork. file_bytes: the largest file that
    it may write. drop_user: whether a worker that root starts changes to an unprivileged user id.
    """

    level: str
    memory_bytes: int
    file_bytes: int
    drop_user: bool


SYSTEM = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache",
    "/etc/localtime", "/etc/fonts", "/etc/alternatives", "/usr/share/fonts", "/usr/share/fontconfig", "/usr/share/zoneinfo",
)  # fmt: skip
"""System paths that a worker may read, without all of /usr: nbgrader's exchange is in /usr/local/share or elsewhere."""
OF_A_PREFIX = ("bin", "lib", "lib64", "fonts", "pyvenv.cfg")
ROOT = Path(__file__).resolve().parents[3]
SANDBOX = ROOT / "autograder" / "sandbox"
WORKER_MODULES = (
    "__init__", "async_harness",
    "process/__init__", "process/forkserver", "process/worker",
    "protocol/__init__", "protocol/wire", "protocol/shared_objects", "protocol/text",
    "confine/__init__", "confine/confine", "confine/landlock", "confine/syscalls", "confine/limits", "confine/large_pages",
    "measure/__init__", "measure/op_counter", "measure/memory", "measure/meta", "measure/simulated_machine",
    "measure/trace_fingerprints", "measure/cuda_emulator",
)  # fmt: skip
"""All modules of SANDBOX that a worker imports."""


@functools.cache
def readable_paths() -> tuple[str, ...]:
    """Return the paths that a worker needs: Python, torch, the kit and the models.

    The paths contain no solution, check or specimen.
    """
    return *python_paths(), *own_paths()


@functools.cache
def python_paths() -> tuple[str, ...]:
    parts = [str(Path(prefix, part)) for prefix in _prefixes() for part in OF_A_PREFIX]
    return *SYSTEM, *(part for part in parts if os.path.lexists(part) and part not in SYSTEM), *_more_packages()


def own_paths() -> tuple[str, ...]:
    ours = [
        ROOT / "course" / "__init__.py",
        ROOT / "course" / "kit",
        ROOT / "datasets" / "tiny",
        ROOT / "datasets" / "smollm2_tokenizer",
        ROOT / "datasets" / "models",
        ROOT / "autograder" / "__init__.py",
        *(SANDBOX / f"{name}.py" for name in WORKER_MODULES),
    ]
    return tuple(map(str, ours))


def _prefixes() -> list[str]:
    return sorted({sys.prefix, sys.base_prefix, sys.exec_prefix})


def _more_packages() -> list[str]:
    """Return the package folders outside all of Python's prefixes."""
    import torch

    found = {str(Path(torch.__file__).parents[1])}
    return sorted(path for path in found if not any(Path(path).is_relative_to(Path(prefix, "lib")) for prefix in _prefixes()))


@functools.cache
def exposed_answers() -> tuple[str, ...]:
    """Return the copies of the course that a worker may read: one installed without `-e`, or a checkout inside Python's own folders."""
    places = {Path(path) for path in _more_packages()}
    for prefix in _prefixes():
        for pattern in ("lib/python*/*-packages", "lib64/python*/*-packages", "lib/python3/*-packages"):
            places |= set(Path(prefix).glob(pattern))
    places |= set(Path("/usr/lib").glob("python3*/*-packages"))
    copies = {place / name for place in places for name in ("solutions", "autograder") if (place / name).is_dir()}
    if any(ROOT.is_relative_to(path) for path in python_paths()):
        copies.add(ROOT)
    return tuple(sorted({str(copy.resolve()) for copy in copies}))


def source_sha256() -> str:
    """Return the checksum of the worker's own code."""
    return hashlib.sha256(b"".join((SANDBOX / f"{name}.py").read_bytes() for name in WORKER_MODULES)).hexdigest()


DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def prepare(wanted: Confinement) -> None:
    """Compute, once in the fork server, the results that each worker's `confine` needs; after confinement imports no longer work."""
    readable_paths()
    if wanted.level != "none":
        syscalls.compiled()


def die_with_parent() -> None:
    """Make the kernel kill this process when the thread that started it ends (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(wanted: Confinement, scratch: str, uid: int) -> None:
    """Apply a level to this process. Raises OSError (or ImportError) if a layer is unavailable; the caller must then end."""
    libc = ctypes.CDLL(None, use_errno=True)
    die_with_parent()
    if wanted.drop_user and os.getuid() == 0:
        os.chown(scratch, uid, uid)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        die_with_parent()  # a change of user clears it
    set_limits(wanted)
    if wanted.level == "none":
        return
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("no_new_privs was refused")
    if wanted.level in ("namespaces", "landlock"):
        # /dev and /dev/shm stay out but for these four; of /proc nothing is left.
        landlock.restrict(read=readable_paths(), write=[scratch, *DEVICES])
    syscalls.load_filter()


def set_limits(wanted: Confinement) -> None:
    mapped = mapped_bytes()
    if wanted.memory_bytes and mapped:
        limit = mapped + wanted.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (wanted.file_bytes, wanted.file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    if wanted.level == "namespaces" or wanted.drop_user:  # else all that this user runs would count
        threads = THREADS if wanted.drop_user else 4 * THREADS
        resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing past the limit is an OSError, not a death


def mapped_bytes() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0

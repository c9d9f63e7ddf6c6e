"""The zygote: one warm process that has imported what student code needs, and forks a worker for each submission.

Started by exec (`python -m autograder.grading.zygote FD`), never forked from the grader, so that no answer is in its memory.
It asserts that it has exactly one thread before each fork: a child forked from a threaded process can hang for ever.

The control socket carries one request a fork: the worker's end of a socket pair, as a file descriptor, with one JSON
line of limits. The reply is the child's process id.
"""

from __future__ import annotations

import array
import json
import os
import resource
import signal
import socket
import sys


def main(fd: int) -> None:
    control = socket.socket(fileno=fd)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the grader, which then closes the control socket

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot
    import numpy  # noqa: F401
    import torch

    import course.kit

    from . import worker

    torch.set_num_threads(1)
    torch.ones(4, 4) @ torch.ones(4, 4)
    shell = worker.make_shell()
    control.sendall(b"ready\n")

    while True:
        message, fds = receive(control)
        if not message:
            return
        threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
        if threads != 1:
            control.sendall(json.dumps({"error": f"the zygote has {threads} threads; it must have one to fork"}).encode() + b"\n")
            return
        limits = json.loads(message)
        pid = os.fork()
        if pid == 0:
            control.close()
            child(fds[0], limits, shell, worker)
            os._exit(0)
        os.close(fds[0])
        control.sendall(json.dumps({"pid": pid}).encode() + b"\n")


def child(fd: int, limits: dict[str, int], shell: object, worker: object) -> None:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    set_limits(limits)
    connection = socket.socket(fileno=fd)
    try:
        worker.Worker(connection, shell).serve()  # type: ignore[attr-defined]
    except BaseException:
        os._exit(1)


def set_limits(limits: dict[str, int]) -> None:
    """Memory over what is mapped at the fork, file size, core files. A limit this system does not have is left out."""
    memory = limits.get("memory_bytes", 0)
    if memory and os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.get("file_bytes"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    message, ancillary, _, _ = control.recvmsg(65536, socket.CMSG_LEN(4 * fds.itemsize))
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message, list(fds)


if __name__ == "__main__":
    main(int(sys.argv[1]))

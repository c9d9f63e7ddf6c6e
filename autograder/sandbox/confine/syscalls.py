"""The system calls that a submission may make: an allow-list, loaded through libseccomp. All others return EPERM.

The list deliberately lacks sockets, exec, fork, mount, ptrace, chmod, links, keyrings, io_uring, signals to other processes, and
memfd_create, whose memory counts against no limit.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import struct
import tempfile

_libc = ctypes.CDLL(None, use_errno=True)

_NAMES = """
read write readv writev pread64 pwrite64 preadv pwritev close close_range lseek
open openat stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir
getdents getdents64 mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 ftruncate fallocate fsync fdatasync
umask dup dup2 dup3 pipe pipe2 copy_file_range sendfile fadvise64 statfs fstatfs
mmap munmap mprotect mremap madvise brk mincore msync membarrier get_mempolicy
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack alarm setitimer getitimer pause
futex futex_waitv set_robust_list get_robust_list rseq set_tid_address
sched_yield sched_get_priority_max sched_get_priority_min
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times getrusage sysinfo uname
getpid gettid getppid getpgrp getuid geteuid getgid getegid getresuid getresgid getgroups
poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd eventfd2
sendto recvfrom sendmsg recvmsg getsockopt getsockname getpeername shutdown
getrandom getrlimit wait4 waitid exit exit_group arch_prctl restart_syscall
"""
PLAIN = tuple(_NAMES.split())

# ioctl requests that ask about a file and change nothing of the terminal: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX.
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5451, 0x5450)
# prctl: names, the dumpable flag's reading, names of memory, speculation's reading.
PRCTLS = (15, 16, 3, 0x53564D41, 52, 39, 21)
# fcntl: duplicates, flags, sizes and seals. No signals when a file is ready (F_SETOWN, F_SETSIG), no leases, for which
# other processes that open the file have to wait, and no locks: workers could exchange messages by locks on a file that all can read.
F_SETFL = 4
FCNTLS = (0, 1, 2, 3, 9, 11, 16, 1030, 1032, 1033, 1034)
O_ASYNC = 0x2000
CLONE_THREAD = 0x00010000

# Calls that report on a process by its number: only on the caller. Otherwise one worker could write there, and another could read it.
OF_A_PROCESS = {
    "sched_getaffinity": 0, "sched_setaffinity": 0, "sched_getparam": 0, "sched_getscheduler": 0, "getpgid": 0, "getsid": 0,
    "getpriority": 1,
}  # fmt: skip
"""Map of a system call to the index of its argument that is a process id."""

SOME_PID = 0x7FFFFF01
"""Placeholder for the worker's process id in the compiled filter; above the kernel's largest."""
JUMP_IF_EQUAL = 0x15
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
INSTRUCTION = struct.Struct("=HBBI")
"""Format of one classic BPF instruction: code, jump if true, jump if false, constant (linux/filter.h)."""


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


@functools.cache
def compiled() -> bytes:
    """Return the filter that libseccomp compiles, with SOME_PID for the process's own id.

    Raises OSError or ImportError if libseccomp is missing. Compiling takes longer than a fork, so it is done once, in advance.
    """
    import pyseccomp as seccomp

    rules = seccomp.SyscallFilter(defaction=seccomp.ERRNO(errno.EPERM))
    for name in PLAIN:
        try:
            rules.add_rule(seccomp.ALLOW, name)
        except (ValueError, OSError, RuntimeError):
            continue  # a call that this processor or this libseccomp does not know is not allowed either
    for request in IOCTLS:
        rules.add_rule(seccomp.ALLOW, "ioctl", seccomp.Arg(1, seccomp.EQ, request))
    for command in FCNTLS:
        rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, command))
    not_async = seccomp.Arg(2, seccomp.MASKED_EQ, O_ASYNC, 0)
    rules.add_rule(seccomp.ALLOW, "fcntl", seccomp.Arg(1, seccomp.EQ, F_SETFL), not_async)
    for option in PRCTLS:
        rules.add_rule(seccomp.ALLOW, "prctl", seccomp.Arg(0, seccomp.EQ, option))
    rules.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD))
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")  # its flags cannot be seen by a filter; glibc then takes clone
    rules.add_rule(seccomp.ALLOW, "prlimit64", seccomp.Arg(2, seccomp.EQ, 0))  # reading a limit
    for name, place in OF_A_PROCESS.items():
        for pid in (0, SOME_PID):
            rules.add_rule(seccomp.ALLOW, name, seccomp.Arg(place, seccomp.EQ, pid))
    rules.add_rule(seccomp.ALLOW, "tgkill", seccomp.Arg(0, seccomp.EQ, SOME_PID))
    rules.add_rule(seccomp.ALLOW, "kill", seccomp.Arg(0, seccomp.EQ, SOME_PID))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def of_process(program: bytes, pid: int) -> bytes:
    """Return the compiled filter for this process.

    Raises OSError if the filter does not compare with a process id or contains the id in another place.
    """
    instructions = list(INSTRUCTION.iter_unpack(program))
    places = [index for index, each in enumerate(instructions) if each[3] == SOME_PID]
    if not places or any(instructions[index][0] != JUMP_IF_EQUAL for index in places):
        raise OSError("the filter of system calls is not as it should be")
    patched = bytearray(program)
    for index in places:  # one for both calls, where libseccomp lets them share it
        INSTRUCTION.pack_into(patched, index * INSTRUCTION.size, *instructions[index][:3], pid)
    return bytes(patched)


def load_filter() -> None:
    """Apply the filter to this process forever; needs no_new_privs. Raises OSError or ImportError if libseccomp is missing."""
    program = of_process(compiled(), os.getpid())
    given = _Program(len(program) // INSTRUCTION.size, program)
    if _libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(given), 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the filter of system calls was refused: {os.strerror(error)}")

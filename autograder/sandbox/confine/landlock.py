"""Landlock (Linux 5.13 and later): a process gives up all files except those named here, for itself and forever.

This module makes three system calls through ctypes; the kernel's userspace-api/landlock documents them. A maintained binding would be
welcome here; at the time of writing none covers the network and scope rules of ABI 4 and 6.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

# All rights that each ABI knows: what is handled and not granted is denied.
HANDLED_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
HANDLED_NET = {4: 3}  # bind and connect over TCP
SCOPED = {6: 3}  # abstract unix sockets, signals


class _Attributes(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the kernel's Landlock version; 0 without Landlock."""
    try:
        version = _libc.syscall(CREATE_RULESET, None, 0, 1)
    except (AttributeError, OSError):
        return 0
    return max(int(version), 0)


def restrict(read: Iterable[str], write: Iterable[str]) -> None:
    """Give up access to all files except `read` and `write`.

    read: files and trees that the process may read and execute. write: trees in which it may read, make, change and remove files. Paths
    that do not exist are left out. Needs no_new_privs. Raises OSError.
    """
    version = abi()
    if version == 0:
        raise OSError("this kernel has no Landlock")
    handled = _newest(HANDLED_FILES, version)
    attributes = _Attributes(handled, _newest(HANDLED_NET, version), _newest(SCOPED, version))
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in read:
            _allow(ruleset, path, handled & (EXECUTE | READ_FILE | READ_DIR))
        for path in write:
            _allow(ruleset, path, handled & ~(EXECUTE | MAKE_CHAR | (1 << 9) | (1 << 10) | (1 << 11) | (1 << 12)))
        _call(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _newest(table: dict[int, int], version: int) -> int:
    return next((table[v] for v in sorted(table, reverse=True) if v <= version), 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= FILE_ONLY
        rule = _PathBeneath(rights, fd)
        _call(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(RULE_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(fd)


def _call(number: int, *arguments: object) -> int:
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return int(result)

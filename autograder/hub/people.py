"""The users who may log in: the roster and the instructor, each with a password that the server draws."""

from __future__ import annotations

import csv
import io
import os
import pwd
import re
import secrets
import subprocess
from collections.abc import Iterable
from pathlib import Path

from ..base.errors import CourseError
from ..gradebook.policy.roster import Roster, find_roster
from .layout import HubFolder

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""The letters of passwords: none is mistaken for another on paper."""
GROUPS, IN_GROUP = 4, 4
"""The groups of a password and the letters in each: 79 bits."""
UNIX_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
OURS = "a class of From Prompt to Token"
"""The comment of an account that was made here: no other account is ever used for a student."""


def students(folder: HubFolder) -> Roster:
    """Return the students of the class. Raises CourseError if the roster is empty or an id cannot be a log-in name."""
    roster = find_roster(folder.of_class)
    if roster is None:
        raise CourseError(f"{folder.of_class / 'roster.csv'} is empty: add a line for each student and start the server again")
    for name in roster.by_id:
        if not UNIX_NAME.fullmatch(name):
            rule = "lower case letters, digits, _ and -, a letter first, at most 32"
            raise CourseError(f"{folder.of_class / 'roster.csv'}: {name!r} is not a valid login name: {rule}")
    return roster


_last_good: dict[Path, Roster] = {}


def class_now(folder: HubFolder) -> Roster:
    """Return `students`, or the last readable roster if the file has become unreadable while the server runs.

    An error in one line therefore locks nobody out.
    """
    try:
        _last_good[folder.of_class] = students(folder)
    except CourseError:
        if folder.of_class not in _last_good:
            raise
    return _last_good[folder.of_class]


def passwords(folder: HubFolder, names: Iterable[str]) -> dict[str, str]:
    """Return the first passwords, and draw missing ones. They are stored in accounts.csv, which only the server's user can read."""
    known = drawn(folder)
    new = [name for name in names if name not in known]
    if new:
        known |= {name: _draw() for name in new}
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("id", "password"))
        writer.writerows(known.items())
        _write_private(folder.accounts, text.getvalue())
    return known


def drawn(folder: HubFolder) -> dict[str, str]:
    """Return the first passwords drawn so far."""
    if not folder.accounts.exists():
        return {}
    with folder.accounts.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["password"] for row in csv.DictReader(file)}


def _draw() -> str:
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(IN_GROUP)) for _ in range(GROUPS))


def _write_private(path: Path, text: str) -> None:
    """Write a file whole or not at all; others cannot read it at any moment."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)


def make_accounts_again(folder: HubFolder) -> None:
    """Create an account for each existing home first; a new account could otherwise get the user number that owns a home."""
    for home in sorted(folder.homes.iterdir()):
        make_account(folder, home.name)


def make_account(folder: HubFolder, name: str) -> None:
    """Create a Unix account of this name with a home in <class>_hub/homes, if there is none yet. Needs root. Raises CourseError.

    The account has no password, so the only log-in is through the server. An account that was not made here is never used: a line "root" or
    "www-data" in a roster gives access to no such account.
    """
    home = folder.homes / name
    try:
        there = pwd.getpwnam(name)
    except KeyError:
        there = None
    if there is not None:
        if there.pw_gecos.split(",")[0] != OURS:
            raise CourseError(f"account {name!r} of this machine does not belong to the class: give the student another id in roster.csv")
        if Path(there.pw_dir) != home:
            raise CourseError(f"the account {name!r} belongs to another class (its home is {there.pw_dir}): give this student another id")
        return
    # If an account was lost and its home was not (another machine, a new container), the home still belongs to the student.
    if home.exists() and (whose := _account_of(home.stat().st_uid)):
        raise CourseError(f"{home} belongs to {whose}, perhaps from a trial: move it away, or give it a user number that no account has")
    number = ["--uid", str(home.stat().st_uid), "--no-create-home"] if home.exists() else ["--create-home"]
    made = ["useradd", "--comment", OURS, "--home-dir", str(home), *number, "--shell", "/bin/bash", "--user-group", name]
    done = subprocess.run(made, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["useradd gave no reason"])[-1]
        raise CourseError(f"no account could be made for {name}: {reason}")
    home.chmod(0o700)


def _account_of(number: int) -> str | None:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return None

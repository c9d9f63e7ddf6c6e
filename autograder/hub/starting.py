"""The start of `autograder hub`: it writes settings to <class>_hub, checks for later failures, and replaces this process by JupyterHub."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from ..base import own
from ..base.errors import CourseError, Unavailable
from ..lessons import ROOT, build_source, release_notebook_path, syllabus
from .config import ACCOUNTS, INSTRUCTOR
from .course import lay_out
from .layout import COURSE_ID, HubFolder
from .people import drawn, make_accounts_again, passwords, students

JUPYTERHUB_CONFIG = '''"""The class server of {name}; written by `autograder hub`. Settings below the last line take precedence."""

from pathlib import Path

from autograder.hub.config import configure

c = get_config()  # noqa: F821 - JupyterHub gives it
configure(c, Path(__file__).resolve().parents[1] / {name!r})
'''
STUDENT_CONFIG = f'''"""Settings for handing in from students' servers; written by `autograder hub`."""

import os

c = get_config()  # noqa: F821 - nbgrader gives it
c.CourseDirectory.student_id = os.environ["JUPYTERHUB_USER"]
c.CourseDirectory.course_id = "{COURSE_ID}"
c.Exchange.root = {{exchange!r}}
'''
INSTRUCTOR_CONFIG = f'''"""The class's own settings and the exchange; written by `autograder hub`."""

c = get_config()  # noqa: F821 - nbgrader gives it
load_subconfig({{of_class!r}})  # noqa: F821 - nbgrader gives it
c.CourseDirectory.course_id = "{COURSE_ID}"
c.Exchange.root = {{exchange!r}}
c.ExchangeFactory.collect = "autograder.hub.exchange.CollectOwned"
c.CollectOwned.check_owner = {{accounts}}
'''
SECRET = (".git", "build", "solutions", "autograder/checking/hidden", "specimens", "tests")
"""The secret folders of the course; students have a copy of their own with the parts that they may read."""
NEEDED = ("jupyterhub", "firstuseauthenticator", "jupyterhub_idle_culler", "configurable_http_proxy")
OFF = "nbgrader.server_extensions."
PLUGIN = "@jupyter/nbgrader:"


def start(of_class: Path, *, host: str, port: int, accounts: bool, instructor: str) -> None:
    """Start the class server. This function does not return: the process becomes JupyterHub. Raises CourseError if something is missing."""
    folder = HubFolder(of_class.resolve())
    own.use(own.folder_of(folder.of_class))
    _look_before(folder, host=host, port=port, accounts=accounts)
    roster = students(folder)
    if instructor in roster.by_id:
        raise CourseError(f"{instructor} is a student in the roster; name the instructor with --instructor")
    set_up(folder, accounts=accounts)
    _only_one(folder)
    if accounts:
        make_accounts_again(folder)
    before = drawn(folder)
    known = passwords(folder, sorted({instructor, *roster.by_id}))
    lay_out(folder)
    for day in syllabus():
        if release_notebook_path(day).exists():
            build_source(day)  # formgrader lists these, and generates from them
    if instructor not in before:
        print(f"The password of the instructor, {instructor}: {known[instructor]}")
    print(f"Names and first passwords to hand out, including the instructor's: {folder.accounts}")
    if accounts:
        _say_what_is_open(folder)
    else:
        print("For a trial only: all servers run as you, so every user can read and change your files. For a class use --accounts.")
    print(f"The class server: http://{host}:{port}  (Ctrl-C ends it and all its servers)", flush=True)
    environment = {**os.environ, INSTRUCTOR: instructor, **({ACCOUNTS: "1"} if accounts else {})}
    hub, proxy = (f"http://127.0.0.1:{each}" for each in _free_ports(2))
    urls = {"JupyterHub.bind_url": f"http://{host}:{port}", "JupyterHub.hub_bind_url": hub, "ConfigurableHTTPProxy.api_url": proxy}
    options = [f"--{name}={url}" for name, url in urls.items()]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it, and by it JupyterHub ends what it started
    os.chdir(folder.private)
    os.execve(sys.executable, [sys.executable, "-m", "jupyterhub", "-f", str(folder.config), *options], environment)


def _only_one(folder: HubFolder) -> None:
    """Lock the class until this process ends, which becomes JupyterHub. A second server would end the first one's proxy."""
    lock = os.open(folder.private / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Unavailable(f"{folder.of_class} has a running server: end that one first") from None
    os.set_inheritable(lock, True)


def _say_what_is_open(folder: HubFolder) -> None:
    """Print the commands that close the instructor's files, if students' accounts can read them."""
    there = [name for name in SECRET if (ROOT / name).is_dir() and (ROOT / name).stat().st_mode & 0o004]
    if there:
        owner, names = folder.of_class.owner(), " ".join(there)
        print("Students' accounts can read answers and hidden checks in the course's folder. Restrict them to the instructor with:")
        print(f"    cd {ROOT} && chown -R {owner} {names} && chmod o-rwx {names}")


def _look_before(folder: HubFolder, *, host: str, port: int, accounts: bool) -> None:
    if not (folder.of_class / "nbgrader_config.py").exists():
        raise CourseError(f"{folder.of_class} is not a class's folder: run `autograder class {folder.of_class}` and fill its roster.csv")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CourseError(f"not installed: {', '.join(missing)}; start with `make class`, or run `pip install -e '.[hub]'` in the course")
    if accounts:
        _look_at_accounts(folder)
    elif host not in ("127.0.0.1", "localhost"):
        raise CourseError(f"without --accounts all servers run as you, so {host} would let others act as you: use 127.0.0.1")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1" if host == "localhost" else host, port))
        except OSError as error:
            raise CourseError(f"{host}:{port} cannot be used ({error.strerror}): choose another port") from None


def _look_at_accounts(folder: HubFolder) -> None:
    if os.geteuid():
        raise CourseError("--accounts makes an account of this machine for each student: it needs root")
    if shutil.which("useradd") is None:
        raise CourseError("--accounts needs `useradd`, which is not installed")
    if folder.of_class.stat().st_uid == 0:
        raise CourseError(
            f"{folder.of_class} belongs to root, so the instructor's server would run as root: `chown -R YOU {folder.of_class}`"
        )
    for what, path in (("the interpreter", Path(sys.base_prefix)), ("the course", ROOT), ("the server's folder", folder.root)):
        if (closed := closed_to_others(path)) is not None:
            raise CourseError(f"{what} is in {closed}, which other accounts cannot enter: move it, or `chmod o+x {closed}`")


def closed_to_others(path: Path) -> Path | None:
    """Return the first folder on the path to a file or folder that is closed to other accounts; None if all are open."""
    there = [each for each in (*reversed(path.parents), path) if each.is_dir()]
    return next((each for each in there if not each.stat().st_mode & 0o001), None)


def set_up(folder: HubFolder, *, accounts: bool) -> None:
    """Create the folder with its settings. An existing jupyterhub_config.py is kept; all else is written again each time."""
    folders = {folder.root: 0o755, folder.private: 0o700, folder.homes: 0o755, folder.courses: 0o755, folder.exchange: 0o1777}
    owner = folder.of_class.stat()
    for path, mode in {**folders, **folder.exchanged}.items():
        path.mkdir(exist_ok=True)
        if path.is_relative_to(folder.exchange) and accounts:
            os.chown(path, owner.st_uid, owner.st_gid)
        path.chmod(mode)
    if not folder.config.exists():
        folder.config.write_text(JUPYTERHUB_CONFIG.format(name=folder.of_class.name), encoding="utf-8")
    for who, text in (("student", STUDENT_CONFIG), ("instructor", INSTRUCTOR_CONFIG)):
        lab = folder.settings(who) / "labconfig"
        lab.mkdir(parents=True, exist_ok=True)
        config = text.format(exchange=str(folder.exchange), of_class=str(folder.of_class / "nbgrader_config.py"), accounts=accounts)
        (folder.settings(who) / "nbgrader_config.py").write_text(config, encoding="utf-8")
        _write_json(folder.settings(who) / "jupyter_server_config.json", _server_settings(who))
        _write_json(lab / "page_config.json", _lab_settings(who))
        shutil.copyfile(ROOT / "course" / "lab" / "labconfig" / "default_setting_overrides.json", lab / "default_setting_overrides.json")
    if accounts:
        folder.of_class.chmod(0o700)  # submissions, gradebook, records: for other accounts there is no way in


def _server_settings(who: str) -> dict[str, Any]:
    on = {"formgrader": who == "instructor", "assignment_list": who == "student", "course_list": False}
    settings: dict[str, Any] = {
        "jpserver_extensions": {f"{OFF}{name}": wanted for name, wanted in on.items()},
        # Not a login shell: /etc/profile would take the course's commands off the PATH again.
        "terminado_settings": {"shell_command": ["/bin/bash"]},
    }
    if who == "instructor":  # formgrader is a page in a page, which JupyterHub allows to none
        settings["tornado_settings"] = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
    return {"ServerApp": settings}


def _lab_settings(who: str) -> dict[str, Any]:
    off = {"assignment-list": who != "student", "formgrader": who != "instructor", "menu": False}
    off |= dict.fromkeys(("course-list", "create-assignment", "validate-assignment"), True)
    return {"disabledExtensions": {f"{PLUGIN}{name}": wanted for name, wanted in off.items()}}


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()

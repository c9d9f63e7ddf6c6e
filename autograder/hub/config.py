"""JupyterHub's settings for a class server: <class>_hub/jupyterhub_config.py calls `configure`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lessons import ROOT
from .layout import HubFolder

if TYPE_CHECKING:
    from traitlets.config import Config

ACCOUNTS, INSTRUCTOR = "COURSE_HUB_ACCOUNTS", "COURSE_HUB_INSTRUCTOR"
"""The environment variables in which `autograder hub` passes its options to JupyterHub's process."""
IDLE_SECONDS = 3600
STUDENT_BEGINS = """
mkdir -p "$HOME/work" && cd "$HOME/work" || exit
[ -e start_here.ipynb ] || cp {start} start_here.ipynb
exec {server} "$@"
"""
"""The commands run as the student, with the student's rights: a file that the server itself wrote into their folder could be redirected."""
INSTRUCTOR_BEGINS = 'cd {folder} && exec {server} "$@"'


def configure(config: Config, of_class: Path) -> None:
    """Configure local processes and SQLite; <class>_hub/jupyterhub_config.py may change any setting after this."""
    from .people import class_now

    folder = HubFolder(of_class.resolve())
    accounts, instructor = bool(os.environ.get(ACCOUNTS)), os.environ[INSTRUCTOR]
    config.JupyterHub.db_url = f"sqlite:///{folder.private / 'jupyterhub.sqlite'}"
    config.JupyterHub.cookie_secret_file = str(folder.private / "cookie_secret")
    config.ConfigurableHTTPProxy.command = [str(Path(sys.executable).parent / "configurable-http-proxy")]
    config.ConfigurableHTTPProxy.pid_file = str(folder.private / "proxy.pid")

    config.JupyterHub.authenticator_class = "autograder.hub.accounts.ClassAuthenticator"
    config.ClassAuthenticator.of_class = str(folder.of_class)
    config.ClassAuthenticator.instructor = instructor
    config.ClassAuthenticator.admin_users = {instructor}
    config.ClassAuthenticator.allow_all = True  # without one of our passwords nobody gets past the form
    config.ClassAuthenticator.dbm_path = str(folder.private / "passwords.dbm")
    config.ClassAuthenticator.min_password_length = 10

    config.JupyterHub.spawner_class = f"autograder.hub.spawning.{'AccountSpawner' if accounts else 'TrialSpawner'}"
    config.AccountSpawner.instructor = instructor
    config.Spawner.pre_spawn_hook = lambda spawner: prepare(spawner, folder, instructor, accounts=accounts)
    config.Spawner.start_timeout = 120
    config.Spawner.http_timeout = 120
    config.TrialSpawner.home_dir_template = str(folder.homes / "{username}")

    python = sys.executable
    config.JupyterHub.services = [
        {"name": "course", "command": [python, "-m", "autograder.hub.course", str(folder.of_class)], "cwd": str(ROOT)},
        {"name": "idle", "command": [python, "-m", "jupyterhub_idle_culler", f"--timeout={IDLE_SECONDS}"]},
    ]
    scopes = ["list:users", "read:users:activity", "read:servers", "delete:servers"]
    config.JupyterHub.load_roles = [{"name": "idle", "scopes": scopes, "services": ["idle"]}]
    class_now(folder)


def prepare(spawner: Any, folder: HubFolder, instructor: str, *, accounts: bool) -> None:
    """Prepare the account and the environment of a server before it starts.

    Raises a 403 error for a user who has left the class but is still logged in.
    """
    from tornado import web

    from .people import class_now, make_account

    name = spawner.user.name
    if name != instructor and name not in class_now(folder).by_id:
        raise web.HTTPError(403, f"{name} is not in the class")
    server = shlex.join([sys.executable, "-m", "jupyterhub.singleuser"])
    if name == instructor:
        begin = INSTRUCTOR_BEGINS.format(folder=shlex.quote(str(folder.of_class)), server=server)
        finds = {"JUPYTER_CONFIG_PATH": os.pathsep.join([str(folder.settings("instructor")), str(ROOT / "course" / "lab")])}
        spawner.notebook_dir = str(folder.of_class)
        spawner.default_url = "/lab"
        as_root = os.stat(folder.of_class).st_uid == 0 if accounts else os.geteuid() == 0
    else:
        if accounts:
            make_account(folder, name)
        start = folder.course / "course" / "start_here.ipynb"
        begin = STUDENT_BEGINS.format(start=shlex.quote(str(start)), server=server)
        finds = {
            "JUPYTER_CONFIG_PATH": os.pathsep.join([str(folder.settings("student")), str(folder.course / "course" / "lab")]),
            "PYTHONPATH": str(folder.course),
            "COURSE_WORK": str(folder.homes / name / "work"),
        }
        spawner.default_url = "/lab/tree/start_here.ipynb"
        as_root = not accounts and os.geteuid() == 0
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    spawner.environment = {**spawner.environment, **finds, "PATH": path}
    spawner.cmd = ["/bin/sh", "-c", begin, "begin"]
    spawner.args = ["--allow-root"] if as_root else []

"""The spawners of users' servers: a process of their own account, or, for a trial, of the account that started the class server."""

from __future__ import annotations

import os
import pwd
from typing import Any

from jupyterhub.spawner import LocalProcessSpawner, SimpleLocalProcessSpawner
from traitlets import Unicode


class AccountSpawner(LocalProcessSpawner):
    """A spawner that runs students as themselves, and the instructor as the owner of the class's folder.

    The instructor therefore owns the folder with and without the server.
    """

    instructor = Unicode(config=True)

    def make_preexec_fn(self, name: str) -> Any:
        return super().make_preexec_fn(self._account(name).pw_name)

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        account = self._account(self.user.name)
        return {**env, "USER": account.pw_name, "HOME": account.pw_dir, "SHELL": account.pw_shell}

    def _account(self, name: str) -> pwd.struct_passwd:
        if name == self.instructor:
            return pwd.getpwuid(os.stat(self.notebook_dir).st_uid)
        return pwd.getpwnam(name)


class TrialSpawner(SimpleLocalProcessSpawner):
    """A spawner that runs all servers with one account. Nothing isolates the servers from each other."""

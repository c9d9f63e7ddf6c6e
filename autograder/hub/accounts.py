"""The log-in: users on the current roster, with passwords that the server drew or that they chose since."""

from __future__ import annotations

import dbm
from pathlib import Path
from typing import Any

import bcrypt
from firstuseauthenticator.firstuseauthenticator import FirstUseAuthenticator, ResetPasswordHandler
from traitlets import Unicode

from .layout import HubFolder
from .people import class_now, passwords

MAX_PASSWORD_BYTES = 72
"""The limit of a password: bcrypt reads no more bytes, and refuses more."""


class ClassAuthenticator(FirstUseAuthenticator):
    """A FirstUseAuthenticator that has a password for each name from the start; otherwise a name would belong to its first user.

    Added and removed lines of the roster take effect at the next log-in.
    """

    of_class = Unicode(config=True)
    instructor = Unicode(config=True)

    def get_handlers(self, app: Any) -> list[tuple[str, type]]:
        """Return the handler of the page for changing a password. The log-in form is JupyterHub's own."""
        return [(r"/auth/change-password", ResetPasswordHandler)]

    async def authenticate(self, handler: Any, data: dict[str, str]) -> Any:
        name, password = self.normalize_username(data["username"]), data["password"]
        if len(password.encode()) > MAX_PASSWORD_BYTES or not self._admits(name):
            return None
        return await super().authenticate(handler, data)

    def reset_password(self, username: str, new_password: str) -> Any:
        if len(new_password.encode()) > MAX_PASSWORD_BYTES:
            return f"Password too long! Please choose one of at most {MAX_PASSWORD_BYTES} bytes."
        return super().reset_password(username, new_password)

    def _admits(self, name: str) -> bool:
        """Return True for a student of the class or its instructor, and make sure that a password exists."""
        folder = HubFolder(Path(self.of_class))
        if name != self.instructor and name not in class_now(folder).by_id:
            return False
        with dbm.open(self.dbm_path, "c", 0o600) as known:
            if name.encode() not in known:
                known[name.encode()] = bcrypt.hashpw(passwords(folder, [name])[name].encode(), bcrypt.gensalt())
        return True

"""Who is let in: those who stand in the roster now, by the passwords that the server drew or that they chose since."""

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
"""bcrypt reads no more, and refuses more."""


class ClassAuthenticator(FirstUseAuthenticator):
    """FirstUseAuthenticator, with a password for everybody before their first use: otherwise a name belongs to whoever comes first.

    A line that is added to the roster counts from the next log-in on; so does one that is taken out.
    """

    of_class = Unicode(config=True)
    instructor = Unicode(config=True)

    def get_handlers(self, app: Any) -> list[tuple[str, type]]:
        """The page where one chooses another password. The form to log in is JupyterHub's own."""
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
        """Whether this is one of the class or its instructor, who then has a password."""
        folder = HubFolder(Path(self.of_class))
        if name != self.instructor and name not in class_now(folder).by_id:
            return False
        with dbm.open(self.dbm_path, "c", 0o600) as known:
            if name.encode() not in known:
                known[name.encode()] = bcrypt.hashpw(passwords(folder, [name])[name].encode(), bcrypt.gensalt())
        return True

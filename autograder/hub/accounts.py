"""Who is let in: those who stand in the roster now, by the passwords that the server drew or that they chose since."""

from __future__ import annotations

import dbm
from pathlib import Path
from typing import Any

import bcrypt
from firstuseauthenticator.firstuseauthenticator import FirstUseAuthenticator, ResetPasswordHandler
from traitlets import Unicode

from ..errors import CourseError
from .layout import HubFolder
from .people import passwords, students


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
        if self.normalize_username(data["username"]) not in self._admitted():
            return None
        return await super().authenticate(handler, data)

    def _admitted(self) -> set[str]:
        """The class and its instructor, all of them with a password."""
        folder = HubFolder(Path(self.of_class))
        try:
            names = {self.instructor, *students(folder).by_id}
        except CourseError as error:
            self.log.error(str(error))
            names = {self.instructor}
        drawn = passwords(folder, sorted(names))
        with dbm.open(self.dbm_path, "c", 0o600) as known:
            for name in names:
                if name.encode() not in known:
                    known[name.encode()] = bcrypt.hashpw(drawn[name].encode(), bcrypt.gensalt())
        return names

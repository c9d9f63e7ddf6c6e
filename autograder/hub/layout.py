"""The folders of a class server. They are beside the folder of the class, which only the instructor can read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

COURSE_ID = "course"
"""nbgrader's name for the one course of a class folder."""


@dataclass(frozen=True)
class HubFolder:
    """The folder <class>_hub.

    Students may pass through the folder and read their own files. Only the server may read accounts, database and cookies.
    """

    of_class: Path

    @property
    def root(self) -> Path:
        return self.of_class.with_name(f"{self.of_class.name}_hub")

    @property
    def private(self) -> Path:
        """Return the folder that only the server reads: passwords, sessions."""
        return self.root / "private"

    @property
    def accounts(self) -> Path:
        return self.private / "accounts.csv"

    @property
    def config(self) -> Path:
        return self.root / "jupyterhub_config.py"

    @property
    def exchange(self) -> Path:
        return self.root / "exchange"

    @property
    def exchanged(self) -> dict[Path, int]:
        """Return {folder: mode} for the folders that nbgrader makes in the exchange at the first release.

        The server makes these folders earlier, so no other account can own them.
        """
        course = self.exchange / COURSE_ID
        return {course: 0o755, course / "outbound": 0o755, course / "inbound": 0o3733, course / "feedback": 0o711}

    @property
    def released(self) -> Path:
        """Return nbgrader's folder with one subfolder for each released assignment."""
        return self.exchange / COURSE_ID / "outbound"

    @property
    def homes(self) -> Path:
        return self.root / "homes"

    @property
    def courses(self) -> Path:
        """Return the folder with the students' copies of the course, one for each day that was the last released."""
        return self.root / "courses"

    @property
    def course(self) -> Path:
        """Return the link to the current copy in `courses`."""
        return self.root / "course"

    def settings(self, who: str) -> Path:
        """Return the folder of Jupyter's settings for "student" or "instructor"."""
        return self.root / who

"""Where a class server keeps its things: beside the folder of the class, which stays the instructor's alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

COURSE_ID = "course"
"""nbgrader's name for the one course of a class folder."""


@dataclass(frozen=True)
class HubFolder:
    """<class>_hub. Students may pass through it and read what is theirs; accounts, database and cookies are the server's alone."""

    of_class: Path

    @property
    def root(self) -> Path:
        return self.of_class.with_name(f"{self.of_class.name}_hub")

    @property
    def private(self) -> Path:
        """What nobody but the server reads: passwords, sessions."""
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
        """What nbgrader makes in the exchange at the first release, with its modes: made before, it is nobody else's."""
        course = self.exchange / COURSE_ID
        return {course: 0o755, course / "outbound": 0o755, course / "inbound": 0o3733, course / "feedback": 0o711}

    @property
    def released(self) -> Path:
        """A folder for each assignment that was released, by nbgrader."""
        return self.exchange / COURSE_ID / "outbound"

    @property
    def homes(self) -> Path:
        return self.root / "homes"

    @property
    def courses(self) -> Path:
        """The course as students have it, once for each day that was the last one released."""
        return self.root / "courses"

    @property
    def course(self) -> Path:
        """A link to the one of `courses` that counts now."""
        return self.root / "course"

    def settings(self, who: str) -> Path:
        """Jupyter's settings for "student" or "instructor"."""
        return self.root / who

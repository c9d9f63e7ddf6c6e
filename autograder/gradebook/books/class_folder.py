"""The paths of one class's work. Importing this module is cheap: only the modules that work with nbgrader's files import nbgrader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .gradebook import gradebook_url


@dataclass(frozen=True)
class ClassFolder:
    """The paths of one class's work, all beside its folder of submissions."""

    submitted: Path
    db_url: str

    @classmethod
    def of(cls, submitted: Path, db: str | None = None) -> ClassFolder:
        submitted = submitted.absolute()
        return cls(submitted, gradebook_url(db or submitted.parent / "gradebook.db"))

    @property
    def root(self) -> Path:
        return self.submitted.parent

    @property
    def records(self) -> Path:
        return self.root / "records"

    @property
    def autograded(self) -> Path:
        return self.root / "autograded"

    @property
    def feedback(self) -> Path:
        return self.root / "feedback"

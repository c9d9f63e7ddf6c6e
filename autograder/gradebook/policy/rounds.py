"""The finished steps of a day's round, each with a digest of its inputs and its files, so that a round can resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ...base.files import write_whole

FOLDER = "rounds"
FORMAT = 1


@dataclass(frozen=True)
class Done:
    """A finished step.

    of: the digest of all inputs; made: its files, as paths from the class's folder; line: its message; look: further messages for a person.
    """

    of: str
    made: tuple[str, ...]
    line: str
    look: tuple[str, ...] = ()


class Steps:
    """The table in rounds/<slug>.json. An unreadable table counts as empty, because repeating a step does no harm."""

    def __init__(self, root: Path, slug: str) -> None:
        self.root = root
        self.path = root / FOLDER / f"{slug}.json"
        self.done: dict[str, Done] = {}
        try:
            table = json.loads(self.path.read_text(encoding="utf-8"))
            if table["format"] == FORMAT:
                steps = table["steps"].items()
                self.done = {name: Done(each["of"], tuple(each["made"]), each["line"], tuple(each["look"])) for name, each in steps}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass

    def holds(self, name: str, of: str) -> bool:
        """Return whether the step was done with exactly these inputs and its files still exist."""
        done = self.done.get(name)
        return done is not None and done.of == of and all((self.root / path).exists() for path in done.made)

    def note(self, name: str, of: str, made: Iterable[Path], line: str, look: tuple[str, ...]) -> None:
        paths = (path.relative_to(self.root) if path.is_relative_to(self.root) else path for path in made)
        self.done[name] = Done(of, tuple(path.as_posix() for path in paths), line, look)
        table = {"format": FORMAT, "steps": {key: asdict(each) for key, each in self.done.items()}}
        write_whole(self.path, json.dumps(table, indent=1).encode(), durable=True)  # ASCII: any path comes back as it was

    def forget(self, name: str) -> None:
        self.done.pop(name, None)


def digest(*parts: object) -> str:
    """Return a digest of all parts: a file's content, or its absence; all files of a folder; the text of anything else."""
    total = hashlib.sha256()
    for part in parts:
        for name, content in _contents(part):
            total.update(f"{len(name)} {name} {len(content)} ".encode("utf-8", "surrogatepass") + content)  # a name need not be UTF-8
    return total.hexdigest()


def _contents(part: object) -> Iterable[tuple[str, bytes]]:
    if not isinstance(part, Path):
        yield "said", repr(part).encode()
    elif part.is_dir():
        yield "folder", b""
        for path in sorted(p for p in part.rglob("*") if p.is_file() and not p.name.startswith(".")):
            yield path.relative_to(part).as_posix(), _sum(path)
    else:
        yield part.name, _sum(part) if part.is_file() else b""


def _sum(path: Path) -> bytes:
    """Return a file's checksum, or the error of a file that cannot be read: the step that needs the file reports it."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        return f"unreadable: {error.errno}".encode()

"""Guides of docs/, followed word for word: their code, and a fresh clone to run it in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


SECOND_TRY = """\
def softmax(logits: Tensor) -> Tensor:
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    weights = shifted.exp()
    return weights / weights.sum(dim=-1, keepdim=True)
"""
"""What first_hour.md says in words: a site without answers holds the guide, too."""


def fences(guide: str, language: str) -> list[str]:
    """Return the code of the fences in docs/<guide>.md that name this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs" / f"{guide}.md").read_text(), re.DOTALL | re.MULTILINE)


def run_block(block: str, where: Path, *, columns: int = 200) -> str:
    """Run a block of commands in a folder, with the environment's commands on the PATH. Return the block with its output."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": str(columns)}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=where, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    return block + done.stdout + done.stderr


def clone(target: Path) -> Path:
    """Copy the files that git knows or does not ignore, as they are now: without build/, work/ and caches. `.venv` is this environment."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / ".venv").symlink_to(sys.prefix)
    return target

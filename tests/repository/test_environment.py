"""The locks, environment.yml and pyproject.toml name the same versions, and all that is imported."""

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import yaml

from course.kit import torch_build

ROOT = Path(__file__).parents[2]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    return {normal(name): version for name, version in re.findall(r"^[\s-]*([\w.-]+)==([^\s;]+)\s*(?:;.*)?$", text, re.MULTILINE)}


def lock(name: str) -> dict[str, str]:
    return pins((ROOT / name).read_text())


@functools.cache
def asked_for(extra: str | None = None) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    return [normal(re.split(r"[=<>~!;\[ ]", one)[0]) for one in wanted]


LOCKS = {extra: lock(f"requirements{extra and '-' + extra}.lock") for extra in ("", "docs", "hub", "dev")}


def test_the_locks_pin_one_torch_and_everything_that_installs_it_names_that_one():
    script, guide, hour, wheel = (
        (ROOT / name).read_text() for name in ("requirements.sh", "docs/gpu.md", "docs/first_hour.md", "autograder/wheel/README.md")
    )
    (pinned,) = {pins["torch"] for pins in LOCKS.values()}
    assert set(re.findall(r"torch==([\d.]+)", hour)) == {pinned} == set(re.findall(r"torch==([\d.]+)", wheel))
    assert set(re.findall(r"torch==([\d.]+)", script)) == {pinned} == set(re.findall(r"torch==([\d.]+)", guide))


def test_no_lock_brings_what_builds_a_grammar_at_import():
    """jsonschema imports it where it is there, and nbformat jsonschema: every process that reads a notebook paid 1.4 s for nothing."""
    assert not any("rfc3987-syntax" in pins for pins in LOCKS.values())


def test_every_direct_dependency_is_locked():
    for extra, pins in LOCKS.items():
        assert set(asked_for(extra or None)) <= set(pins), extra


def test_the_development_lock_only_adds_to_the_others():
    course, docs, hub, dev = LOCKS.values()
    assert {name: docs.get(name) for name in course} == {name: hub.get(name) for name in course} == course
    assert {name: dev.get(name) for name in {**docs, **hub}} == {**docs, **hub}


def test_the_development_group_holds_the_others():
    dev = set(asked_for("dev"))
    assert all(set(asked_for(extra)) <= dev for extra in ("cluster", "postgresql", "docs", "hub", "onnxruntime"))


def test_conda_users_get_the_very_versions_that_are_tested():
    """The whole lock, not the direct dependencies alone: what these need in their turn would be as new as the day."""
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    assert conda == ["python=3.11", "pip", {"pip": [f"--extra-index-url {torch_build.PYTORCH}", "-r requirements-dev.lock"]}]


def test_pages_name_the_version_of_torch_that_is_tested():
    pages = [path for folder in ("docs", "autograder", "course") for path in (ROOT / folder).rglob("*.md")]
    named = {path: re.findall(r"torch_build\.py (\d[\w.]*\w)", path.read_text(encoding="utf-8")) for path in pages}
    assert sum(map(bool, named.values())) >= 2
    assert {version for found in named.values() for version in found} == {lock("requirements.lock")["torch"]}


# What is imported is declared: what comes along with something else may leave with it


FOLDERS = ("autograder", "course", "solutions", "datasets", "benchmarks", "tests")
SCRIPTS = {path.stem for folder in ("benchmarks", "datasets") for path in (ROOT / folder).rglob("*.py")}
"""They import each other by their bare names."""
OURS = {"autograder", "course", "solutions", "tests", "benchmarks", *SCRIPTS}
NOT_READ = ("specimens", "__pycache__")
"""Specimens import what a submission may, which is what the course needs."""
ANSWERS = ROOT / "tests" / "certification" / "written_tests"
"""What students might write for a test to be judged: some of it is not even Python."""
WHO_NEEDS = {
    "autograder/site": ["docs"],
    "autograder/certification/mutation": ["dev"],
    "autograder/hub": ["hub"],
    "autograder/grading/executors/dask_tasks.py": ["cluster"],
    "autograder/grading/executors/cluster.py": ["cluster"],
    "autograder/notebook/pytest_plugin.py": ["dev"],
    "benchmarks": ["docs", "dev", "llama"],
    "datasets": ["dev"],
    "solutions/engine/onnx_blocks.py": ["onnxruntime"],
    "solutions/engine/flash_triton.py": ["triton"],
    "tests": ["dev"],
}
"""Which extras, beside the course's own dependencies, somebody has installed who runs what lies there."""


NOT_INSTALLED = {"llama_cpp": ["llama-cpp-python"]}
"""Where no installed distribution says what a module belongs to."""


PART_OF = {"tornado": "jupyterhub"}
"""How somebody is refused is said to JupyterHub with an exception of tornado's: the one cannot leave without the other."""


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement below a node, at any depth. Imports are statements, and most of a tree is expressions."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, part, ()):
            yield child
            yield from statements(child)


def imports(path: Path) -> set[str]:
    """The top modules that a file imports, wherever the import stands; ours and Python's own left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        cells = "".join(re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        text = "\n".join(re.findall(r"^(?:import|from) .+$", cells, re.MULTILINE))
    found = set()
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found - OURS - set(sys.stdlib_module_names)


def undeclared(module: str, path: str, distributions: dict[str, list[str]]) -> bool:
    declared = set(asked_for())
    for place, extras in WHO_NEEDS.items():
        if Path(path).is_relative_to(place):
            declared |= {name for extra in extras for name in asked_for(extra)}
    return not declared & {normal(name) for name in [*distributions.get(module, [module]), PART_OF.get(module, module)]}


def test_every_import_is_declared_for_those_who_need_it():
    distributions = {**NOT_INSTALLED, **metadata.packages_distributions()}
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if not set(NOT_READ) & set(path.parts)]
    files = [path for path in files if ANSWERS not in path.parents]
    files += (ROOT / "course").glob("*/lesson.md")
    missing = {
        f"{relative}: {module}"
        for path in files
        for module in imports(path)
        if undeclared(module, relative := path.relative_to(ROOT).as_posix(), distributions)
    }
    assert missing == set()


def test_an_import_that_is_not_declared_is_seen():
    distributions = {"bs4": ["beautifulsoup4"], "zmq": ["pyzmq"], "dask": ["dask"]}
    assert not undeclared("bs4", "tests/gradebook/test_report.py", distributions)
    assert undeclared("bs4", "autograder/report.py", distributions)
    assert undeclared("zmq", "tests/notebook/test_kernel.py", distributions)
    assert not undeclared("dask", "autograder/grading/executors/cluster.py", distributions)
    assert undeclared("dask", "autograder/grading/run.py", distributions)
    assert undeclared("no_such_module", "course/kit/models/model.py", distributions)

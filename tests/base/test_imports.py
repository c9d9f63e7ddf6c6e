"""The imports of `autograder` have no cycle; and parsing in several threads, where CPython counts one depth for all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from autograder.base.imports import imported_files
from autograder.base.parsing import parse
from autograder.sandbox.confine.confine import WORKER_MODULES

ROOT = Path(__file__).parents[2]
FOR_ANNOTATIONS = {
    ("autograder.certification.mistake_index", "autograder.certification.certify"),
    ("autograder.race.validate", "autograder.race.replay"),
}
"""One names the other's classes under TYPE_CHECKING, and nothing else."""


def modules() -> dict[str, Path]:
    paths = [path for path in (ROOT / "autograder").rglob("*.py") if "specimens" not in path.parts]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports(name: str, source: str, known: dict[str, Path]) -> Iterator[str]:
    """Modules of `known` that one imports, wherever the import stands: in a function, or for annotations only."""
    package = name if known[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = parents[: len(parents) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield from [module for module in (f"{start}.{alias.name}", start) if module in known][:1]


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: set(imports(name, path.read_text(encoding="utf-8"), known)) - {name} for name, path in known.items()}


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_file_comes_to_import_itself(graph):
    assert len(graph) > 100
    left = {name: {each for each in found if (name, each) not in FOR_ANNOTATIONS} for name, found in graph.items()}
    assert circle(left) == []


def test_a_circle_is_seen_wherever_its_imports_stand():
    known = {name: Path(f"{name}.py") for name in ("a", "b", "c")}
    sources = {"a": "import b", "b": "def f():\n    from c import x", "c": "if TYPE_CHECKING:\n    from a import y"}
    found = {name: set(imports(name, source, known)) for name, source in sources.items()}
    assert sorted(set(circle(found))) == ["a", "b", "c"]


def test_a_record_can_be_read_without_what_runs_checks():
    names = {path.stem for path in imported_files(ROOT, ["autograder.grading.records"])}
    assert "verdicts" in names
    assert names.isdisjoint({"runner", "remote_student", "local", "channel", "session", "worker", "handles", "forkserver_pool"})


def test_no_file_takes_anothers_private_names():
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        taken = [alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level for alias in node.names]
        assert [each for each in taken if each.startswith("_") and not each.startswith("__")] == [], name


def test_a_private_root_holds_every_file_that_the_worker_imports():
    """What is missing there is missed at level namespaces alone, where the next level is taken instead."""
    names = [f"autograder.sandbox.{name.replace('/', '.')}" for name in WORKER_MODULES if not name.endswith("__init__")]
    known = modules()
    needed, seen = list(names), set(names)
    while needed:
        name = needed.pop()
        others = imports(name, known[name].read_text(encoding="utf-8"), known)
        found = {other for other in others if other != "autograder"}
        needed += found - seen
        seen |= found
    assert sorted(seen) == sorted(names)


def test_it_is_pythons_parser():
    assert ast.dump(parse("x = [1]\n")) == ast.dump(ast.parse("x = [1]\n"))
    with pytest.raises(SyntaxError):
        parse("x = [")


def test_eight_threads_parse_deep_code_at_once(monkeypatch):
    inside, most = 0, 0

    def stock(source, real=ast.parse):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        try:
            return real(source)
        finally:
            inside -= 1

    monkeypatch.setattr(ast, "parse", stock)
    sources = ["x = " + "[" * depth + "]" * depth for depth in range(10, 90)] * 20
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(parse, sources))) == len(sources)
    assert most == 1

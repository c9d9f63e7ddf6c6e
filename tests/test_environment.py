"""The locks, environment.yml and pyproject.toml name the same versions."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    return {normal(name): version for name, version in re.findall(r"^[\s-]*([\w.-]+)==([^\s;]+)\s*(?:;.*)?$", text, re.MULTILINE)}


def lock(name: str) -> dict[str, str]:
    return pins((ROOT / name).read_text())


def asked_for(extra: str | None = None) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    return [normal(re.split(r"[=<>~!;\[ ]", one)[0]) for one in wanted]


def test_torch_is_pinned_exactly_everywhere():
    assert lock("requirements.lock")["torch"] == lock("requirements-dev.lock")["torch"] == "2.13.0"
    assert '"torch==2.13.0"' in (ROOT / "pyproject.toml").read_text()


def test_every_direct_dependency_is_locked():
    assert set(asked_for()) <= set(lock("requirements.lock"))
    assert set(asked_for("docs")) <= set(lock("requirements-docs.lock"))
    assert set(asked_for("dev")) <= set(lock("requirements-dev.lock"))


def test_the_development_lock_only_adds_to_the_others():
    course, docs, dev = (lock(f"requirements{name}.lock") for name in ("", "-docs", "-dev"))
    assert {name: docs.get(name) for name in course} == course
    assert {name: dev.get(name) for name in docs} == docs


def test_conda_users_get_the_same_versions():
    conda = pins((ROOT / "environment.yml").read_text())
    assert set(conda) == set(asked_for()) | set(asked_for("dev"))
    locked = lock("requirements-dev.lock")
    assert conda == {name: locked[name] for name in conda}

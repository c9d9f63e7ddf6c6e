"""What is said of the server beside llama.cpp's, on the page and in the handbook, is what was measured."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from course.kit import paths

RESULTS = paths.ROOT / "benchmarks" / "results"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(paths.ROOT / "benchmarks"))
    return importlib.import_module("server")


def test_the_pages_are_what_the_figures_say(server) -> None:
    result = json.loads((RESULTS / "data" / "server.json").read_text(encoding="utf-8"))
    for rows in result["runs"].values():
        assert tuple(row["rate"] for row in rows) == server.RATES
        assert all(row["served"] + row["refused"] == server.REQUESTS for row in rows)
    assert (RESULTS / "server.md").read_text(encoding="utf-8") == server.page(result)
    assert server.table(result["runs"]) in (paths.ROOT / "docs" / "serving.md").read_text(encoding="utf-8")


def test_llama_server_is_asked_with_each_file_by_its_own_name(server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.shutil, "which", lambda name: f"/opt/{name}")
    assert list(server.commands(1)) == ["ours", "llama-server"]
    found = server.commands(1, Path("/tmp/fast.gguf"))
    assert found["llama-server"][:3] == ["/opt/llama-server", "-m", str(paths.SMOLLM2)]
    assert found["llama-server, Q4_0"][:3] == ["/opt/llama-server", "-m", "/tmp/fast.gguf"]


def test_where_no_server_of_llama_cpp_is_installed_ours_is_alone(server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server.shutil, "which", lambda name: None)
    monkeypatch.setattr(server.importlib.util, "find_spec", lambda name: None)
    assert list(server.commands(1)) == ["ours"]
    assert server.build() == ""
    assert server.in_fastest_format(tmp_path) is None

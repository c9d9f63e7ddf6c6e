"""Copy missing notebooks to work/ and open JupyterLab on day {day}. With --copy-only it opens nothing."""

import os
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent


def show_the_course_to_kernels() -> None:
    """Let every kernel of this folder's environment import the course, even if VS Code or another Jupyter opens the notebook."""
    if HERE in Path(sys.prefix).resolve().parents:  # never in an environment that is somebody else's
        line = Path(sysconfig.get_path("purelib")) / "from_prompt_to_token.pth"
        line.write_text(f"{HERE}\n", encoding="utf-8")


def main() -> None:
    show_the_course_to_kernels()
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

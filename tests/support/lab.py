"""A JupyterLab server and a browser for tests: what `make lab` starts, in a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

from autograder.lessons import Day, release_notebook_path, solved_notebook

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
BROWSER_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window. Playwright is imported here: most tests need none."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


def lab_command() -> list[str]:
    """The command line with which `make lab` starts JupyterLab, as make itself would run it."""
    printed = subprocess.run(["make", "-n", "lab"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    line = next(line for line in printed.splitlines() if "jupyter lab" in line)
    return [f"{Path(sys.executable).parent / 'jupyter'}", *line.split("bin/jupyter")[1].split()]


def lab_profile() -> str:
    """The settings folder that `make lab` names."""
    text = (ROOT / "Makefile").read_text()
    return str(ROOT / re.findall(r"JUPYTER_CONFIG_PATH=(\S+)", text)[0])


@contextmanager
def lab(folder: Path, *options: str) -> Iterator[str]:
    """Starts Lab on a folder that has a work/ in it; gives the address of its root."""
    port = free_port()
    command = [
        *lab_command(), "--no-browser", f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=",
        "--ServerApp.password=", "--ServerApp.allow_root=True", f"--ServerApp.root_dir={folder}", *options,
    ]  # fmt: skip
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_CONFIG_PATH": lab_profile(),
    }
    with open(folder / "lab.log", "w") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(f"{address}/api/status", server, folder / "lab.log")
            yield address
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(address: str, server: subprocess.Popen, log: Path, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"{server.args} did not start:\n{log.read_text()[-3000:]}")


OPEN = """async path => {
    for (const widget of [...jupyterapp.shell.widgets("main")]) {
        await widget.sessionContext?.shutdown();
        widget.dispose();
    }
    const panel = await jupyterapp.commands.execute("docmanager:open", {path});
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
}"""


def open_page(browser: Any, address: str) -> Any:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(address)
    page.wait_for_selector(".jp-NotebookPanel, .jp-Launcher", timeout=90_000)
    page.wait_for_timeout(1500)
    return page


def open_day(page: Any, day: Day) -> None:
    """Opens the day's notebook as it lies on the disk, with a kernel that answers; closes all others, and ends their kernels.

    Lab is to be started with `--LabApp.expose_app_in_browser=True`.
    """
    page.evaluate(OPEN, f"work/{day.slug}/{day.slug}.ipynb")


def answers(day: Day) -> dict[str, str]:
    """The course's own, of each exercise."""
    abouts = [(cell.metadata.get("course", {}), cell.source) for cell in solved_notebook(day).cells]
    return {about["exercise"]: source for about, source in abouts if about.get("role") == "exercise"}


def put_notebook(folder: Path, day: Day, *, solved: bool, changed: dict[str, str] | None = None) -> Path:
    """A student's copy of a day in folder/work/<slug>/, with the solutions filled in or not; `changed` replaces exercises' sources."""
    target = folder / "work" / day.slug
    target.mkdir(parents=True, exist_ok=True)
    if (day.folder / "figures").exists():
        shutil.copytree(day.folder / "figures", target / "figures", dirs_exist_ok=True)
    notebook = solved_notebook(day) if solved else nbformat.read(release_notebook_path(day), as_version=4)
    for cell in notebook.cells:
        exercise = cell.metadata.get("course", {}).get("exercise")
        if changed and cell.metadata.get("course", {}).get("role") == "exercise" and exercise in changed:
            cell.source = changed[exercise]
    path = target / f"{day.slug}.ipynb"
    nbformat.write(notebook, path)
    return path


def run_all_cells(page, idle_seconds: float = 240) -> None:
    """Run > Run All Cells, then waits until the kernel is idle and no cell is waiting."""
    # On a busy machine the kernel takes its time to come, and a notebook without one runs nothing and says nothing.
    idle = page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status='idle']")
    idle.wait_for(state="attached", timeout=idle_seconds * 1000)
    page.locator(".jp-NotebookPanel:visible .jp-Notebook").click(position={"x": 5, "y": 5})
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    begun = page.locator(".jp-NotebookPanel:visible .jp-InputPrompt", has_text=re.compile(r"\[(\*|\d+)\]"))
    begun.first.wait_for(timeout=idle_seconds * 1000)
    page.wait_for_timeout(1500)
    until = time.monotonic() + idle_seconds
    while time.monotonic() < until:
        waiting = page.locator(".jp-NotebookPanel:visible .jp-InputPrompt", has_text="[*]").count()
        busy = page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status='busy']").count()
        if not waiting and not busy:
            return
        page.wait_for_timeout(500)
    raise AssertionError("the notebook did not finish")


def scroll_until(page, selector: str) -> None:
    panel = page.locator(".jp-NotebookPanel:visible .jp-WindowedPanel-outer")
    panel.evaluate("e => e.scrollTop = 0")
    for _ in range(200):
        found = page.locator(selector)
        if found.count():
            found.first.scroll_into_view_if_needed()
            page.wait_for_timeout(800)
            if found.count():
                return
            panel.evaluate("e => e.scrollTop -= 1400")  # cells that were drawn only now have pushed it out of the window
        panel.evaluate("e => e.scrollTop += 700")
        page.wait_for_timeout(150)
    raise AssertionError(f"nothing like {selector} in the notebook")


class Desk:
    """A page of JupyterLab, worked with mouse and keys as a person does."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector(".jp-NotebookPanel:visible .jp-Cell", timeout=180_000)

    def run(self, saying: str, *, typed: str | None = None, wait: bool = True) -> Any:
        """Runs the cell whose source holds `saying`; `typed` takes its place first."""
        cell = f".jp-NotebookPanel:visible .jp-CodeCell:has(.cm-content:has-text('{saying}'))"
        scroll_until(self.page, cell)
        self.page.locator(f"{cell} .cm-content").first.click()
        if typed is not None:
            self.page.keyboard.press("Control+A")
            self.page.keyboard.insert_text(typed)
        self.page.keyboard.press("Shift+Enter")
        if wait:
            self.page.wait_for_timeout(400)
            self.idle()
        return cell

    def idle(self, seconds: float = 180) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not self.page.locator(".jp-NotebookPanel:visible .jp-InputPrompt", has_text="[*]").count():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("a cell did not finish")

    def output(self, cell: str) -> str:
        """Return the text of a cell's output, as it is on the screen."""
        if not self.page.locator(f"{cell} .jp-OutputArea-output").count():
            scroll_until(self.page, f"{cell} .jp-OutputArea-output")
        return self.page.locator(cell).first.locator(".jp-OutputArea").first.inner_text()

"""A class server for tests: `autograder hub` in a folder of its own, and people in front of it, each with a browser."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import playwright.sync_api
import psutil
from bs4 import BeautifulSoup

from autograder.commands.handing_out import make_class
from autograder.hub.layout import HubFolder

from . import lab

BIN = Path(sys.executable).parent
INSTRUCTOR = "prof"


def make(folder: Path, people: dict[str, str]) -> Path:
    """The folder of a class with these in its roster, {id: name}."""
    of_class = folder / "class2026"
    make_class(of_class)
    with (of_class / "roster.csv").open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows((each, "", name, f"{each}@example.org") for each, name in people.items())
    return of_class


IN_A_HOUSE_OF_ITS_OWN = """
set -e
mkdir "$HOUSE/etc" "$HOUSE/python"
cp -a /etc/. "$HOUSE/etc"
mount --bind "$HOUSE/etc" /etc
mount --bind "$PYTHON" "$HOUSE/python"
if [ -n "$CLOSED" ]; then
    mount -t tmpfs -o mode=755 closed "$CLOSED"
    mkdir -p "$PYTHON"
    mount --bind "$HOUSE/python" "$PYTHON"
fi
useradd --create-home --home-dir "$HOUSE/home" "$OWNER"
chown -R "$OWNER" "$CLASS"
export HOME="$HOUSE"
exec "$@"
"""
"""Accounts that are made in it are not made outside, and an interpreter in somebody's closed home can be run by all."""


def own_house(folder: Path, of_class: Path) -> tuple[str, ...] | None:
    """Words in front of a command, so that it has a list of accounts of its own, with one for the owner of the class's folder.

    None where this machine does not allow that.
    """
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return None
    house = folder / "house"
    house.mkdir()
    python = Path(sys.base_prefix)
    closed = [parent for parent in [*reversed(python.parents)][1:] if not parent.stat().st_mode & 0o001]
    settings = {"HOUSE": house, "PYTHON": python, "CLOSED": closed[0] if closed else "", "CLASS": of_class, "OWNER": "teacher"}
    return ("env", *(f"{key}={value}" for key, value in settings.items()), "unshare", "-m", "/bin/sh", "-c", IN_A_HOUSE_OF_ITS_OWN, "house")


@contextmanager
def serving(of_class: Path, *options: str, before: tuple[str, ...] = ()) -> Iterator[str]:
    """`autograder hub`, until the block ends; gives the server's address. before: words in front of the command."""
    port = lab.free_port()
    log = of_class.parent / "hub.log"
    command = [*before, str(BIN / "autograder"), "hub", str(of_class), "--port", str(port), "--instructor", INSTRUCTOR, *options]
    with log.open("ab") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            address = f"http://127.0.0.1:{port}"
            lab.wait_for(f"{address}/hub/login", server, log)
            yield address
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                for process in (*psutil.Process(server.pid).children(recursive=True), psutil.Process(server.pid)):
                    process.kill()
                raise AssertionError(f"the class server did not end:\n{tail(log)}") from None


def wait_until(happened: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.2)


def tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-4000:]


def password_of(of_class: Path, name: str) -> str:
    with HubFolder(of_class).accounts.open(encoding="utf-8", newline="") as file:
        return next(row["password"] for row in csv.DictReader(file) if row["id"] == name)


def is_let_in(address: str, name: str, password: str) -> bool:
    """Whether the form to log in takes this."""
    return log_in_status(address, name, password) == 302


def choose_password(address: str, name: str, password: str, new: str) -> str:
    """The words with which the page says how it went."""
    with httpx.Client(base_url=address, follow_redirects=False) as client:
        assert _log_in(client, name, password) == 302
        page = client.get("/hub/auth/change-password").text
        form = {**_hidden(page), "password": new}
        alert = BeautifulSoup(client.post("/hub/auth/change-password", data=form).text, "html.parser").select_one(".alert")
        return alert.get_text(strip=True) if alert else ""


def log_in_status(address: str, name: str, password: str) -> int:
    """What the form to log in answers: 302 to who is let in."""
    with httpx.Client(base_url=address, follow_redirects=False) as client:
        return _log_in(client, name, password)


def _log_in(client: httpx.Client, name: str, password: str) -> int:
    form = {**_hidden(client.get("/hub/login").text), "username": name, "password": password}
    return client.post("/hub/login", data=form).status_code


def _hidden(page: str) -> dict[str, str]:
    fields = BeautifulSoup(page, "html.parser").select("form input[type=hidden]")
    return {str(field["name"]): str(field["value"]) for field in fields}


def log_in(browser: Any, address: str, name: str, password: str) -> Any:
    """A page of a browser of their own, after the form."""
    page = browser.new_context(viewport={"width": 1180, "height": 760}).new_page()
    page.goto(address)
    page.fill("#username_input", name)
    page.fill("#password_input", password)
    page.click("#login_submit")
    return page


class Student:
    """Somebody in front of their own JupyterLab."""

    def __init__(self, browser: Any, address: str, of_class: Path, name: str) -> None:
        self.name, self.root = name, f"{address}/user/{name}"
        self.page = log_in(browser, address, name, password_of(of_class, name))
        self.page.wait_for_selector(".jp-NotebookPanel h1", timeout=120_000)

    def open_assignments(self) -> None:
        """Nbgrader, Assignment List."""
        self.page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
        self.page.get_by_text("Assignment List", exact=True).click()

    def press(self, slug: str, button: str, *, of: str) -> None:
        """Presses a button of the assignment list. of: "released", "fetched" or "submitted", the part of it."""
        self.page.locator("#refresh_assignments_list").click()
        line = self.page.locator(f"#{of}_assignments_list .list_item", has_text=slug).first
        line.get_by_role("button", name=button, exact=True).first.click(timeout=60_000)

    def sees(self, text: str, *, of: str) -> None:
        """Waits until this part of the list says so."""
        self.page.locator(f"#{of}_assignments_list", has_text=text).wait_for(timeout=60_000)

    def write(self, path: str, content: dict[str, Any]) -> None:
        """Saves a notebook as their JupyterLab does."""
        saved = self.page.evaluate(
            """async ([root, path, content]) => {
                const token = document.cookie.split("; ").find(each => each.startsWith("_xsrf="))?.slice(6) ?? "";
                const body = JSON.stringify({type: "notebook", format: "json", content});
                const headers = {"Content-Type": "application/json", "X-XSRFToken": token};
                return (await fetch(`${root}/api/contents/${path}`, {method: "PUT", headers, body})).status;
            }""",
            [self.root, path, content],
        )
        assert saved in (200, 201), saved

    def run(self, path: str) -> None:
        """Opens a notebook, and runs all its cells. A page whose kernel is not quite there runs nothing: then once more."""
        for patience in (60, 240):
            self.page.goto(f"{self.root}/lab/tree/{path}?reset")
            self.page.wait_for_selector(".jp-NotebookPanel:visible .jp-CodeCell", timeout=60_000)
            self.page.wait_for_timeout(1500)
            try:
                lab.run_all_cells(self.page, idle_seconds=patience)
                return
            except playwright.sync_api.TimeoutError:
                continue
        raise AssertionError(f"{path} does not run")


class Instructor:
    """Somebody in front of formgrader."""

    def __init__(self, browser: Any, address: str, of_class: Path) -> None:
        self.page = log_in(browser, address, INSTRUCTOR, password_of(of_class, INSTRUCTOR))
        self.page.wait_for_selector(".jp-Launcher", timeout=120_000)
        self.formgrader = f"{address}/user/{INSTRUCTOR}/formgrader"

    def open_formgrader(self) -> None:
        """As the menu does it: a page in JupyterLab."""
        self.page.goto(self.formgrader.replace("/formgrader", "/lab?reset"))
        self.page.get_by_role("menuitem", name="Nbgrader", exact=True).click(timeout=60_000)
        self.page.get_by_text("Formgrader", exact=True).click()
        self.page.frame_locator("iframe").get_by_role("heading", name="Manage Assignments").wait_for(timeout=60_000)

    def type_in_a_terminal(self, line: str) -> None:
        self.page.goto(self.formgrader.replace("/formgrader", "/lab?reset"))
        self.page.locator(".jp-LauncherCard", has_text="Terminal").click(timeout=60_000)
        self.page.locator(".jp-Terminal .xterm-helper-textarea").wait_for(state="attached", timeout=60_000)
        self.page.wait_for_timeout(2000)  # its shell has a prompt
        self.page.locator(".jp-Terminal").click()
        self.page.keyboard.type(f"{line}\n")

    def row(self, slug: str) -> Any:
        """The line of a day on the page Manage Assignments."""
        self.page.goto(f"{self.formgrader}/manage_assignments")
        row = self.page.locator("tr", has=self.page.locator(f"td.name:has-text('{slug}')"))
        row.wait_for(timeout=60_000)
        return row

    def press(self, slug: str, button: str, seconds: float = 120) -> str:
        """Presses a button of the day's line, and closes the window that says how it went. -> its words"""
        self.row(slug).locator(f"td.{button} a").first.click()
        return self.window_words(seconds)

    def window_words(self, seconds: float = 120) -> str:
        window = self.page.locator(".modal.in, .modal.show").last
        window.wait_for(timeout=seconds * 1000)
        words = str(window.inner_text())
        window.locator("button", has_text="OK").click()
        window.wait_for(state="detached")
        return words

"""A real kernel for tests: it runs cells and returns the text that a page would show."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

SECONDS = 120


class Kernel:
    """A kernel of a Day's notebook, and what a page would show of each cell."""

    def __init__(self, folder: Path, slug: str = "", *, session: str | None = None, kernel_name: str = "python3") -> None:
        """Start a kernel in the day's folder, as JupyterLab does; without a slug, in `folder`, with `session` as the notebook's name."""
        place = folder / slug
        place.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.manager = KernelManager(kernel_name=kernel_name)
        environment = {**os.environ, "COURSE_WORK": str(folder)}
        environment.pop("JPY_SESSION_NAME", None)
        if name := str(place / f"{slug}.ipynb") if slug else session:
            environment["JPY_SESSION_NAME"] = name
        self.manager.start_kernel(env=environment, cwd=str(place))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)

    def run(self, source: str, cell_id: str = "", *, stop_after: float | None = None) -> str:
        """All text that the cell shows at its end, tags left out: a display that is updated counts once."""
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": True,
            "stop_on_error": False,
        }
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell_id} if cell_id else {})
        self.client.shell_channel.send(message)
        if stop_after is not None:
            time.sleep(stop_after)
            self.manager.interrupt_kernel()
        shown: dict[str, str] = {}
        self.displays: list[str] = []
        while True:
            reply: Any = self.client.get_iopub_msg(timeout=SECONDS)
            if reply["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            kind, content = reply["msg_type"], reply["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind in ("display_data", "update_display_data", "execute_result"):
                place = content.get("transient", {}).get("display_id", str(len(shown)))
                shown[place] = content["data"].get("text/html", content["data"].get("text/plain", ""))
                self.displays.append(re.sub(r"<[^>]+>", "", shown[place]))
            elif kind == "stream":
                shown[str(len(shown))] = content["text"]
            elif kind == "error":
                shown[str(len(shown))] = "\n".join(content["traceback"])
        return re.sub(r"<[^>]+>", " ", "\n".join(shown.values()))

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

"""What a test found out and a reader should see though it passed: `record_property("says", text)` brings it to the end of the output.

And which tests one process of several runs (`make test` has two): those of a file that share a server or a class stay together, all
others go to whoever is free. The long ones begin, so that no core waits for the other at the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

LONG_FIRST = (
    "test_instructor", "test_demo", "test_browser", "test_days", "test_cluster", "test_certify", "test_resume", "test_bundle",
    "test_bridge", "test_accessibility", "test_site", "test_near", "test_attacks", "test_mutation", "test_mistakes", "test_grading",
    "test_kernel",
)  # fmt: skip
"""Files with a test, or a shared set-up, of many seconds. The others follow in the order of their names."""
APART = ("test_days", "test_near", "test_certify", "test_attacks", "test_mistakes", "test_mutation")
"""Files whose tests share nothing: each goes by itself."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files in the order of LONG_FIRST, and for `--dist loadgroup` a group for each but those of APART."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    items.sort(key=lambda item: place(item.path))
    for item in items:
        if item.path.stem not in APART:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def place(path: Path) -> int:
    return LONG_FIRST.index(path.stem) if path.stem in LONG_FIRST else len(LONG_FIRST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome)]
    for report in reports:
        for text in [value for name, value in report.user_properties if name == "says"]:
            name = report.nodeid.partition("::")[2].removesuffix(f"@{Path(report.fspath).stem}")
            terminalreporter.write_line(f"{name}: {text}")

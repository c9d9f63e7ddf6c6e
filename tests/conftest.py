"""What a test found out and a reader should see though it passed: `record_property("says", text)` brings it to the end of the output."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome)]
    for report in reports:
        for text in [value for name, value in report.user_properties if name == "says"]:
            terminalreporter.write_line(f"{report.nodeid.partition('::')[2]}: {text}")

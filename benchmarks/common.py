"""The shared parts of the benchmarks: the folder of figures, and a description of the machine that they come from."""

import json
import os
import platform
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def processor() -> str:
    """Return the processor and its number of cores, without which an absolute figure means nothing."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    name = names[0].partition(":")[2].strip() if names else platform.processor()
    return f"{name}, {os.cpu_count()} CPU cores"


def machine() -> str:
    """Return processor, cores and load, in one line."""
    return f"{processor()}, load average {os.getloadavg()[2]:.1f} over the last 15 minutes"


def in_lines(value: Any, indent: str = "") -> str:
    """Return JSON with each record (a dict without nested dicts) on a line of its own, so a hundred runs take a hundred lines."""
    text = json.dumps(value)
    if "{" not in text[1:]:
        return text
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    items = value.values() if isinstance(value, dict) else value
    lines = [f"{indent}  {key}{in_lines(item, indent + '  ')}" for key, item in zip(keys, items, strict=True)]
    return text[0] + "\n" + ",\n".join(lines) + f"\n{indent}" + text[-1]


def save(name: str, result: dict[str, Any], text: str, results: Path = RESULTS) -> None:
    """Write data/<name>.json and <name>.md in the folder of results."""
    (results / "data").mkdir(parents=True, exist_ok=True)
    (results / "data" / f"{name}.json").write_text(in_lines(result) + "\n", encoding="utf-8")
    (results / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")

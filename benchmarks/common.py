"""What the benchmarks share: where figures go, and the words for the machine they come from."""

import json
import os
import platform
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def processor() -> str:
    """Processor and cores: an absolute figure means nothing without them."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    name = names[0].partition(":")[2].strip() if names else platform.processor()
    return f"{name}, {os.cpu_count()} CPU cores"


def machine() -> str:
    """Processor, cores and load, in one line."""
    return f"{processor()}, load average {os.getloadavg()[2]:.1f} over the last 15 minutes"


def save(name: str, result: dict[str, Any], text: str) -> None:
    """Writes results/<name>.json and results/<name>.md."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")

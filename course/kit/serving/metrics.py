"""The metrics of a server at /metrics, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from .core import Core

CONTENT_TYPE = CONTENT_TYPE_LATEST
TTFT_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ITL_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""The upper ends, in seconds. They fit the served model: milliseconds for a small one, half a second for one that others share."""


@dataclass(eq=False)
class CachedTokens(Collector):
    """A metric that reads the core's own counter."""

    core: Any

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily("fpt_cached_tokens", "Tokens of prompts that were found in the cache", value=self.core.num_cached_tokens)


class Metrics:
    """The counters, gauges and histograms of one server. Figures of the core are read from the core at each request of /metrics."""

    def __init__(self, core: Core) -> None:
        disable_created_metrics()  # creation times would double the page, and nobody reads them
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("fpt_requests", "Requests for an answer, by status", ["status"], registry=registry)
        self.tokens = Counter("fpt_tokens", "Tokens read (prompt) and made (completion)", ["kind"], registry=registry)
        self.aborted = Counter("fpt_aborted", "Requests whose client left before the end", registry=registry)
        self.ttft = Histogram("fpt_ttft_seconds", "From a request's arrival to its first token", buckets=TTFT_BUCKETS, registry=registry)
        self.itl = Histogram("fpt_itl_seconds", "From one token of a request to the next", buckets=ITL_BUCKETS, registry=registry)
        for kind in ("prompt", "completion"):
            self.tokens.labels(kind)  # 0 is reported, too
        if hasattr(core, "num_cached_tokens"):  # not every core has a cache
            registry.register(CachedTokens(core))
        self._gauge("fpt_num_running", "Requests that run", lambda: core.num_running)
        self._gauge("fpt_num_waiting", "Requests that wait", lambda: core.num_waiting)
        self._gauge("fpt_free_blocks", "Blocks of the cache that no request uses", lambda: core.num_free_blocks)

    def _gauge(self, name: str, text: str, value: Callable[[], int]) -> None:
        Gauge(name, text, registry=self.registry).set_function(value)

    def page(self) -> bytes:
        return generate_latest(self.registry)

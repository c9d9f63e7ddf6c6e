"""A figure to step through: a queue of requests under a rising load, each a line from its arrival to its last token."""

from __future__ import annotations

import torch

from .stepping import choices, stepping_figure

LOADS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 2.0, 2.6)
"""The loads in requests a second."""
SERVERS = (1, 2, 4)
PREFILLS = (0.1, 0.3, 0.9)
"""The prefill times in seconds."""
NUM_REQUESTS, NUM_TOKENS, GAP, PROMISE = 400, 20, 0.02, 1.0


def unit_waits() -> list[float]:
    """Return times between arrivals at one request a second.

    The times are random and independent (a Poisson process), the same in each run, and rounded to microseconds.
    """
    waits = torch.empty(NUM_REQUESTS, dtype=torch.float64).exponential_(1.0, generator=torch.Generator().manual_seed(0))
    return [round(wait, 6) for wait in waits.tolist()]


def request_timeline(*, servers: int = 1, prefill: float = 0.3) -> str:
    """Return HTML of the figure, to be shown with `IPython.display.HTML`; it needs no kernel. Each step shows a higher load of LOADS.

    servers: the number of servers, each with one request at a time. prefill: seconds of prefill, followed by 20 tokens, 20 ms apart. Both
    are the initial choices; ValueError for a value that is not in the lists. The printed figures are those of all 400 requests; the drawing
    shows the 12 requests up to the longest wait.
    """
    data = {"waits": unit_waits(), "loads": LOADS, "tokens": NUM_TOKENS, "gap": GAP, "promise": PROMISE}
    controls = choices(
        ("servers", "servers", [str(n) for n in SERVERS], str(servers)),
        ("prefill", "prefill, in seconds", [str(s) for s in PREFILLS], str(prefill)),
    )
    label = "A timeline of requests, step by step under a higher load"
    return stepping_figure(label, data, _DRAW, last_step=len(LOADS) - 1, controls=controls, back="Back to a quiet service")


_DRAW = """
  const rows = 12, left = 60, right = 712, top = 24, height = 16;
  const decode = (data.tokens - 1) * data.gap;

  function serve(load, servers, prefill) {
    const free = Array(servers).fill(0), requests = [];
    let now = 0;
    for (const wait of data.waits) {
      now += wait / load;
      const server = free.indexOf(Math.min(...free)), start = Math.max(now, free[server]);
      free[server] = start + prefill + decode;
      requests.push({ arrival: now, start, first: start + prefill, last: free[server], ttft: start + prefill - now });
    }
    return requests;
  }

  function percentile(values, q) {
    const ordered = [...values].sort((a, b) => a - b), rank = q / 100 * (ordered.length - 1);
    const below = Math.floor(rank), above = Math.min(below + 1, ordered.length - 1);
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below]);
  }

  function drawn(step) {
    const load = data.loads[step], servers = Number(part("servers").value), prefill = Number(part("prefill").value);
    const requests = serve(load, servers, prefill), ttfts = requests.map((r) => r.ttft);
    const worst = ttfts.indexOf(Math.max(...ttfts)), from = Math.max(0, worst - rows + 1), shown = requests.slice(from, from + rows);
    const begin = shown[0].arrival, end = Math.max(...shown.map((r) => r.last));
    const x = (time) => left + (right - left) * (time - begin) / (end - begin);
    let s = "";
    for (const [i, [words, fill]] of [["in the queue", "%LIGHT%"], ["prefill", "%ORANGE%"], ["tokens", "%BLUE%"]].entries())
      s += box(left + i * 120, 4, 12, 12, fill, "stroke='%GREY%'") + text(left + i * 120 + 18, 15, words, "font-size='12'");
    s += "<path d='M " + (left + 366) + " 4 v 12' stroke='#222' stroke-width='2'/>";
    s += text(left + 374, 15, "the promise, " + data.promise + " s after the arrival", "font-size='12'");
    shown.forEach((r, i) => {
      const y = top + i * height;
      s += text(left - 8, y + 12, "" + (from + i + 1), "text-anchor='end' font-size='11'");
      if (r.start > r.arrival) s += box(x(r.arrival), y + 2, x(r.start) - x(r.arrival), height - 5, "%LIGHT%", "stroke='%GREY%'");
      s += box(x(r.start), y + 2, x(r.first) - x(r.start), height - 5, "%ORANGE%");
      s += box(x(r.first), y + 2, x(r.last) - x(r.first), height - 5, "%BLUE%");
      const promised = r.arrival + data.promise;
      if (promised <= end) s += "<path d='M " + x(promised) + " " + y + " v " + (height - 1) + "' stroke='#222' stroke-width='2'/>";
    });
    const bottom = top + rows * height + 4;
    s += "<path d='M " + left + " " + bottom + " H " + right + "' stroke='%GREY%'/>";
    const unit = [0.5, 1, 2, 5, 10, 20, 50, 100].find((u) => (end - begin) / u <= 10) || 200;
    for (let tick = 0; tick <= end - begin; tick += unit)
      s += text(x(begin + tick), bottom + 16, "" + tick, "text-anchor='middle' font-size='11'");
    s += text((left + right) / 2, bottom + 34, "seconds; one line for each request, in the order of arrival", "text-anchor='middle'");

    const kept = ttfts.filter((t) => t <= data.promise).length, limit = servers / (prefill + decode);
    const tail = (q) => percentile(ttfts, q).toFixed(2) + " s";
    const words = load.toFixed(1) + " requests a second, " + (servers === 1 ? "1 server" : servers + " servers") +
      ": the TTFT has p50 " + tail(50) + " and p99 " + tail(99) + ", and " + kept + " of " +
      requests.length + " requests kept the promise. The gap between tokens is " + Math.round(data.gap * 1000) +
      " ms, as at every load. The picture shows requests " + (from + 1) + " to " + (from + shown.length) + "; request " + (worst + 1) +
      " waited longest, " + ttfts[worst].toFixed(2) + " s for its first token.";
    const warning = load > limit ? "More requests arrive than the servers can serve, " + limit.toFixed(2) +
      " a second: the queue grows without end." : "";
    return { svg: s, words, warning };
  }
"""

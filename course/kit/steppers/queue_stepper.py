"""A figure to step through: requests come, wait, are refused or served; one reader leaves. Each request has a row; the queue is below."""

from __future__ import annotations

from .stepping import choices, sliders, stepping_figure

STEP = 20
"""The milliseconds of a step, in which every running request gets a token."""
REQUESTS = (("A", 0, 5), ("B", 5, 50), ("C", 25, 4), ("D", 26, 4), ("E", 27, 4), ("F", 105, 4), ("G", 107, 4))
"""The requests: (name, arrival in ms, tokens asked for). No two events have one time, so their order is known."""
LEAVES = ("B", 3)
"""The reader who closes the tab, and the token after which they do."""
NOTICED = ("is noticed at once", "is never noticed")
PLACES, LIMITS = (1, 3), (1, 4)
"""The ends of the two sliders: the limits of running and of waiting requests."""


def who_is_served(*, places: int = 2, limit: int = 2, closed: str = NOTICED[0]) -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`; it needs no kernel.

    A step begins as soon as the previous step has ended; requests that arrived in the meantime then take free places. A reader leaves with
    a token when the next step has already begun, so that step may still make a token for this reader. places, limit, closed: the initial
    choices; ValueError for a value that is not on the sliders or in the list.
    """
    data = {"step": STEP, "requests": REQUESTS, "leaves": LEAVES, "noticed": NOTICED[0]}
    controls = choices(("closed", "a closed tab", NOTICED, closed)) + sliders(
        ("places", "places", PLACES, places), ("limit", "may wait", LIMITS, limit)
    )
    return stepping_figure("A server with a queue, step by step", data, _DRAW, controls=controls, back="Back to the beginning")


_DRAW = """
  // All steps for these settings, as AsyncEngine and a core with so many places make them.
  function played(places, limit, noticed) {
    const steps = [], waiting = [], running = [];
    const all = data.requests.map(([name, arrival, asked]) =>
      ({ name, arrival, asked, times: [], nobody: 0, refused: false, reads: name === data.leaves[0] ? data.leaves[1] : asked }));
    const arriving = [...all];
    let clock = 0;
    const come = (until, step) => {
      while (arriving.length && arriving[0].arrival <= until) {
        const row = arriving.shift();
        row.refused = waiting.length >= limit;
        if (row.refused) step.refused.push([row.name, row.arrival, waiting.length]);
        else waiting.push(row);
      }
    };
    while (arriving.length || waiting.length || running.length) {
      if (!waiting.length && !running.length) clock = Math.max(clock, arriving[0].arrival);
      const step = { start: clock, end: clock + data.step, tokens: [], nobody: [], ended: [], left: [], refused: [] };
      come(clock, step);
      while (waiting.length && running.length < places) running.push(waiting.shift());
      come(step.end - 1, step);  // while it runs
      clock = step.end;
      for (const row of [...running]) {
        row.times.push(clock);
        const made = row.times.length;
        if (made > row.reads) { row.nobody += 1; step.nobody.push(row.name); } else step.tokens.push(row.name);
        if (made === row.asked && made <= row.reads) step.ended.push(row.name);
        if (made === row.reads && made < row.asked) step.left.push(row.name);
        if (made === row.asked || (noticed && made > row.reads)) running.splice(running.indexOf(row), 1);
      }
      steps.push(Object.assign(step, { running: running.map((row) => row.name), waiting: waiting.map((row) => row.name) }));
    }
    const waits = all.filter((row) => row.times.length).map((row) => row.times[0] - row.arrival);
    const sum = (list) => list.reduce((total, n) => total + n, 0);
    const tokens = sum(all.map((row) => row.times.length)), nobody = sum(all.map((row) => row.nobody));
    return { steps, all, wait: Math.max(...waits), tokens, nobody };
  }

  const left = 34, width = 680, rowHeight = 22, floor = 236;
  function drawn(at) {
    const limit = Number(part("limit").value);
    const { steps, all, wait, tokens, nobody } =
      played(Number(part("places").value), limit, part("closed").value === data.noticed);
    const end = steps[steps.length - 1].end, x = (ms) => left + ms / end * width;
    const step = Math.min(at, steps.length), clock = step ? steps[step - 1].end : 0;
    let s = "";
    all.forEach((row, i) => {
      const y = 4 + i * rowHeight;
      s += text(4, y + 14, row.name, "font-weight='bold'");
      if (row.refused) {
        const pale = row.arrival < clock ? "" : " fill-opacity='0.35'";
        s += text(x(row.arrival) + 2, y + 14, "429", "font-size='12' font-weight='bold'" + pale);
        s += box(x(row.arrival) - 2, y, 3, 17, "%RED%", pale);
        return;
      }
      const first = row.times[0] - data.step;
      s += box(x(row.arrival), y + 5, x(first) - x(row.arrival), 7, "%LIGHT%");
      row.times.forEach((time, k) => {
        const fill = k < row.reads ? "%GREEN%" : "%ORANGE%", wide = Math.max(x(time) - x(time - data.step) - 1, 1);
        s += box(x(time - data.step), y, wide, 17, fill, time <= clock ? "" : "fill-opacity='0.35'");
      });
    });
    const most = 4, y = (n) => floor - n / most * 56;
    steps.forEach((other, k) => {
      const n = other.waiting.length, wide = Math.max(x(other.end) - x(other.start) - 1, 1);
      if (n) s += box(x(other.start), y(n), wide, floor - y(n), "%BLUE%", k < step ? "" : "fill-opacity='0.35'");
    });
    s += "<path d='M" + left + " " + y(limit) + " h" + width + "' stroke='#222' stroke-dasharray='4 3' fill='none'/>";
    s += "<path d='M" + left + " " + floor + " h" + width + "' stroke='%GREY%' fill='none'/>";
    s += text(10, y(limit) + 4, limit, "font-size='11'");
    if (step) s += "<path d='M" + x(clock) + " 0 V" + floor + "' stroke='%ORANGE%' stroke-width='2'/>";
    const legend = [["%LIGHT%", "waits"], ["%GREEN%", "a token"], ["%ORANGE%", "for nobody"], ["%RED%", "refused"],
      ["%BLUE%", "how many wait"]];
    legend.forEach(([fill, name], i) => {
      s += box(left + i * 120, 245, 12, 12, fill) + text(left + i * 120 + 17, 256, name, "font-size='12'");
    });

    let words = "No step yet.";
    if (step) {
      const now = steps[step - 1], list = (names) => names.join(", ");
      words = "Step " + step + ", " + now.start + " to " + now.end + " ms:";
      words += now.tokens.length ? " a token for " + list(now.tokens) + "." : "";
      if (now.nobody.length) words += " A token of " + list(now.nobody) + " for nobody.";
      now.refused.forEach(([name, ms, n]) => { words += " " + name + " came at " + ms + " ms and was refused: " + n + " waited."; });
      if (now.ended.length) words += " " + list(now.ended) + " ended.";
      if (now.left.length) words += " " + list(now.left) + " closes the tab.";
      words += " Running: " + (list(now.running) || "nobody") + ". Waiting: " + (list(now.waiting) || "nobody") + ".";
    }
    const refused = all.filter((row) => row.refused).map((row) => row.name);
    words += " In all " + steps.length + " steps, " + tokens + " tokens, " + nobody + " of them for nobody; refused: " +
      (refused.join(", ") || "nobody") + "; the longest wait for a first token is " + wait + " ms.";
    return { svg: s, words, last: steps.length };
  }
"""

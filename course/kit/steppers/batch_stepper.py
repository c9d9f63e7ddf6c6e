"""A figure to step through: requests arrive, are fed, give way and end. Each request has a row; below are the tokens of each step."""

from __future__ import annotations

from .stepping import sliders, stepping_figure

BLOCK_SIZE, FREE_RIDE = 4, 8
"""The tokens in a block, and the number of tokens that take as long as one: there the products take as long as reading the weights."""
REQUESTS = (("A", 0, 4, 9), ("B", 0, 6, 7), ("C", 20, 22, 4), ("D", 30, 3, 8), ("E", 60, 5, 3))
"""The requests: (name, arrival in ticks, tokens of the prompt, tokens asked for). No two texts begin alike."""
BUDGETS, RUNNING, BLOCKS = (4, 32), (1, 4), (7, 20)
"""The ends of the three sliders. The longest text needs all blocks of the smallest pool."""


def batch_by_batch(*, budget: int = 32, running: int = 4, blocks: int = 20) -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`; it needs no kernel.

    A tick is the time of one token in a large batch. A step takes FREE_RIDE ticks, or one tick for each of its tokens if it has more.
    budget, running, blocks: the initial values of the sliders; ValueError for a value outside them.
    """
    data = {"size": BLOCK_SIZE, "ride": FREE_RIDE, "requests": REQUESTS}
    controls = sliders(
        ("budget", "token budget", BUDGETS, budget), ("running", "may run", RUNNING, running), ("blocks", "blocks of 4", BLOCKS, blocks)
    )
    label = "Requests on a scheduler, step by step"
    return stepping_figure(label, data, _DRAW, controls=controls, back="Back to the beginning")


_DRAW = """
  // The whole schedule for three settings: as the exercises make it, with a pool that remembers.
  function played(budget, most, blocks) {
    const size = data.size, steps = [], idle = [];
    let free = blocks, clock = 0;
    const all = data.requests.map(([name, arrival, prompt, asked]) =>
      ({ name, arrival, prompt, asked, text: prompt, stored: 0, held: 0, known: new Set(), times: [] }));
    const arriving = [...all], waiting = [], running = [];
    const room = () => free + idle.length;
    function take() {
      if (free) free -= 1;
      else { const [row, block] = idle.shift(); row.known.delete(block); }
    }
    function release(row) {  // its last block first
      while (row.held) {
        row.held -= 1;
        if (row.known.has(row.held)) idle.push([row, row.held]); else free += 1;
      }
      row.stored = 0;
    }
    const need = (row, n) => Math.ceil((row.stored + n) / size) - row.held;
    function grow(row, n) {
      for (let i = need(row, n); i > 0; i--) { take(); row.held += 1; }
      row.stored += n;
    }
    while (arriving.length || waiting.length || running.length) {
      if (!waiting.length && !running.length) clock = Math.max(clock, arriving[0].arrival);
      while (arriving.length && arriving[0].arrival <= clock) waiting.push(arriving.shift());
      const step = { start: clock, chunks: [], preempted: [], tokens: [], ended: [] };
      let left = budget;
      for (const row of [...running]) {
        const n = Math.min(row.text - row.stored, left);
        if (!n) break;
        while (running.includes(row) && need(row, n) > room()) {
          const youngest = running.pop();
          release(youngest);
          waiting.unshift(youngest);
          step.preempted.push(youngest.name);
        }
        if (!running.includes(row)) continue;
        grow(row, n);
        left -= n;
        step.chunks.push([row.name, n, row.text - row.stored + n > 1]);
      }
      while (!step.preempted.length && waiting.length && running.length < most && left) {
        const row = waiting[0];
        while ((row.held + 1) * size < row.text && row.known.has(row.held)) {  // the last token is not taken over
          idle.splice(idle.findIndex(([other, block]) => other === row && block === row.held), 1);
          row.held += 1;
        }
        row.stored = row.held * size;
        const n = Math.min(row.text - row.stored, left);
        if (need(row, n) > room()) { release(row); break; }
        grow(row, n);
        left -= n;
        step.chunks.push([row.name, n, true]);
        running.push(waiting.shift());
      }
      const fed = budget - left;
      clock += Math.max(data.ride, fed);
      for (const [name] of step.chunks) {
        const row = all.find((other) => other.name === name);
        for (let block = 0; (block + 1) * size <= row.stored; block++) row.known.add(block);
        if (row.stored < row.text) continue;
        row.text += 1;
        row.times.push(clock);
        step.tokens.push(name);
        if (row.times.length === row.asked) {
          running.splice(running.indexOf(row), 1);
          release(row);
          step.ended.push(name);
        }
      }
      steps.push(Object.assign(step, { end: clock, fed, waiting: waiting.map((row) => row.name), held: blocks - room() }));
    }
    const firsts = all.map((row) => row.times[0] - row.arrival);
    const gaps = all.flatMap((row) => row.times.slice(1).map((time, i) => time - row.times[i]));
    const fed = steps.reduce((sum, step) => sum + step.fed, 0);
    return { steps, all, fed, first: Math.max(...firsts), gap: Math.max(...gaps) };
  }

  const left = 34, width = 680, rowHeight = 24, floor = 236;
  function drawn(at) {
    const budget = Number(part("budget").value), blocks = Number(part("blocks").value);
    const { steps, all, fed, first, gap } = played(budget, Number(part("running").value), blocks);
    const end = steps[steps.length - 1].end, x = (tick) => left + tick / end * width;
    const step = Math.min(at, steps.length);
    let s = "";
    all.forEach((row, i) => {
      const y = 4 + i * rowHeight;
      s += text(4, y + 14, row.name, "font-weight='bold'");
      s += box(x(row.arrival), y + 7, x(row.times[row.times.length - 1]) - x(row.arrival), 5, "%LIGHT%");
      steps.forEach((other, k) => {
        const chunk = other.chunks.find(([name]) => name === row.name);
        const pale = k < step ? "" : " fill-opacity='0.35'";
        const wide = Math.max(x(other.end) - x(other.start) - 1, 1);
        if (chunk || other.preempted.includes(row.name)) s += box(x(other.start), y, wide, 18, "white");
        if (chunk) {
          s += box(x(other.start), y, wide, 18, chunk[2] ? "%BLUE%" : "%GREEN%", pale);
          if (chunk[2]) s += "<text x='" + (x(other.start) + wide / 2) + "' y='" + (y + 13) +
            "' text-anchor='middle' font-size='11' fill='white'>" + (wide > 9 ? chunk[1] : "") + "</text>";
        } else if (other.preempted.includes(row.name)) s += box(x(other.start), y, wide, 18, "%RED%", pale);
      });
    });
    const most = Math.max(budget, data.ride, 12), y = (tokens) => floor - tokens / most * 84;
    steps.forEach((other, k) => {
      const wide = Math.max(x(other.end) - x(other.start) - 1, 1), pale = k < step ? "" : " fill-opacity='0.35'";
      const read = other.chunks.reduce((sum, [, n, prompt]) => sum + (prompt ? n : 0), 0);
      s += box(x(other.start), y(other.fed), wide, floor - y(other.fed), "%GREEN%", pale);
      if (read) s += box(x(other.start), y(read), wide, floor - y(read), "%BLUE%", pale);
    });
    const line = (tokens, more) => "<path d='M" + left + " " + y(tokens) + " h" + width + "' stroke='#222' fill='none' " + more + "/>";
    s += line(budget, "") + line(data.ride, "stroke-dasharray='4 3'");
    for (const tokens of new Set([budget, data.ride])) s += text(0, y(tokens) + 4, tokens, "font-size='11'");
    if (step) s += "<path d='M" + x(steps[step - 1].end) + " 0 V" + floor + "' stroke='%ORANGE%' stroke-width='2'/>";
    const legend = [["%LIGHT%", "waits"], ["%BLUE%", "reads a text"], ["%GREEN%", "one token"], ["%RED%", "gives way"]];
    legend.forEach(([fill, name], i) => {
      s += box(left + i * 120, 245, 12, 12, fill) + text(left + i * 120 + 17, 256, name, "font-size='12'");
    });

    let words = "No step yet.";
    if (step) {
      const now = steps[step - 1], list = (names) => names.join(", ");
      words = "Step " + step + ", ticks " + now.start + " to " + now.end + ": " + now.fed + " of " + budget + " tokens, " +
        list(now.chunks.map(([name, n]) => name + " " + n)) + ".";
      if (now.preempted.length) words += " " + list(now.preempted) + " gave way.";
      if (now.tokens.length) words += " A token for " + list(now.tokens) + ".";
      if (now.ended.length) words += " " + list(now.ended) + " ended.";
      if (now.waiting.length) words += " Waiting: " + list(now.waiting) + ".";
      words += " Blocks held: " + now.held + " of " + blocks + ".";
    }
    words += " In all " + steps.length + " steps, " + end + " ticks, " + fed + " tokens fed; the longest wait for a first token is " +
      first + " ticks, the longest gap " + gap + ".";
    return { svg: s, words, last: steps.length };
  }
"""

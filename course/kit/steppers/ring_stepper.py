"""A figure to step through: every rank holds numbers of its own and needs the sum of all. It shows the messages and each rank's sums."""

from __future__ import annotations

from .stepping import choices, sliders, stepping_figure

WAYS = ("in a ring", "through rank 0", "each to each other")
WORLDS = (2, 5)
"""The ends of the slider. Rank r of `world` begins with `world` numbers, 10 r, 10 r + 1 and so on, each of them a chunk."""
PART, NOW = "#a9c3dd", "#f0b873"


def round_of_messages(*, world: int = 4, way: str = WAYS[0]) -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`; it needs no kernel.

    A step is a round of messages that are sent at the same time, one by each rank in the ring. world, way: the initial choices; ValueError
    for a value that is not on the slider or in the list.
    """
    data = {"ways": WAYS, "part": PART, "now": NOW}
    controls = choices(("way", "the sum is made", WAYS, way)) + sliders(("world", "ranks", WORLDS, world))
    return stepping_figure("An all-reduce, round by round", data, _DRAW, controls=controls, back="Back to the beginning")


_DRAW = """
  const list = (names) => names.length < 2 ? names.join("") : names.slice(0, -1).join(", ") + " and " + names[names.length - 1];

  // Every round: what each rank holds after it, which numbers moved, what each has sent and received so far, and the words.
  function played(way, n) {
    const all = [...Array(n).keys()];
    let hold = all.map((r) => all.map((c) => ({ value: 10 * r + c, of: [r] })));
    const sent = Array(n).fill(0), received = Array(n).fill(0);
    const rounds = [{ hold, sent: [...sent], received: [...received], words: "Nothing has been sent: each rank holds its own numbers." }];
    const total = { [data.ways[0]]: 2 * (n - 1), [data.ways[1]]: 2, [data.ways[2]]: 1 }[way];

    // moves: from, to, chunk, and whether it is added to what is there or put in its place. They all begin at once.
    function round(moves, words) {
      const before = hold, brought = {};
      hold = before.map((row) => [...row]);
      for (const { from, to, chunk, added } of moves) {
        const came = before[from][chunk], there = hold[to][chunk];
        hold[to][chunk] = added ? { value: there.value + came.value, of: [...there.of, ...came.of].sort() } : came;
        brought[to + " " + chunk] = true;
        sent[from] += 1;
        received[to] += 1;
      }
      const said = typeof words === "function" ? words(before, hold) : words;
      rounds.push({ hold, brought, sent: [...sent], received: [...received],
        words: "Round " + rounds.length + " of " + total + ": " + said });
    }

    const others = all.slice(1), named = n === 2 ? "rank 1" : "ranks " + list(others);
    if (way === data.ways[0]) {
      const moves = (shift, added) => all.map((r) => ({ from: r, to: (r + 1) % n, chunk: (r - shift + n) % n, added }));
      for (let s = 0; s < n - 1; s++) {
        const now = moves(s + 1, true);
        round(now, (before, after) => now.map(({ from, to, chunk }) => "rank " + from + " sends chunk " + chunk + " (" +
          before[from][chunk].value + ") to rank " + to + ", where it becomes " + after[to][chunk].value).join("; ") + "." +
          (s === n - 2 ? " Each rank has one chunk of the sum, that of its own number." : ""));
      }
      for (let s = 0; s < n - 1; s++) {
        const now = moves(s, false);
        round(now, (before) => now.map(({ from, to, chunk }) => "rank " + from + " hands chunk " + chunk + " (" +
          before[from][chunk].value + ") to rank " + to).join("; ") + ".");
      }
    } else if (way === data.ways[1]) {
      round(others.flatMap((r) => all.map((chunk) => ({ from: r, to: 0, chunk, added: true }))),
        named + (n === 2 ? " sends all its numbers" : " send all their numbers") + " to rank 0, which adds them.");
      round(others.flatMap((r) => all.map((chunk) => ({ from: 0, to: r, chunk, added: false }))),
        "rank 0 sends the sum to " + named + ".");
    } else {
      round(all.flatMap((r) => all.filter((o) => o !== r).flatMap((o) => all.map((chunk) => ({ from: o, to: r, chunk, added: true })))),
        "each rank sends all its numbers to each other, and adds what it gets.");
    }
    return rounds;
  }

  function drawn(at) {
    const n = Number(part("world").value), rounds = played(part("way").value, n), last = rounds.length - 1;
    const step = Math.min(at, last), now = rounds[step];
    const left = 62, wide = 420 / n, high = Math.min(52, 212 / n), top = 26;
    let s = "";
    for (let c = 0; c < n; c++) s += text(left + (c + 0.5) * wide, 17, "chunk " + c, "text-anchor='middle' font-size='12'");
    s += text(left + 440, 17, "sent", "font-size='12'") + text(left + 540, 17, "received", "font-size='12'");
    now.hold.forEach((row, r) => {
      const y = top + r * high;
      s += text(2, y + high / 2 + 2, "rank " + r, "font-weight='bold'");
      row.forEach(({ value, of }, c) => {
        const whole = of.length === n, came = now.brought && now.brought[r + " " + c];
        const fill = whole ? "%GREEN%" : came ? data.now : of.length > 1 ? data.part : "white", ink = whole ? "white" : "#222";
        const frame = came ? "stroke='%ORANGE%' stroke-width='3'" : "stroke='%GREY%'";
        s += box(left + c * wide + 3, y + 2, wide - 6, high - 6, fill, frame);
        const write = (dy, words, more) => "<text x='" + (left + (c + 0.5) * wide) + "' y='" + (y + high / 2 + dy) + "' fill='" + ink +
          "' text-anchor='middle' " + more + ">" + words + "</text>";
        s += write(-2, value, "font-weight='bold'") + write(12, "of " + (whole ? "all" : of.join(" ")), "font-size='11'");
      });
      [[440, now.sent[r]], [540, now.received[r]]].forEach(([x, count]) => {
        s += text(left + x, y + high / 2 + 2, "" + count);
        if (count) s += box(left + x + 24, y + high / 2 - 8, 3.2 * count, 10, "%BLUE%");
      });
    });
    const legend = [["white", "its own"], [data.part, "a part of the sum"], [data.now, "came just now"], ["%GREEN%", "whole"]];
    legend.forEach(([fill, name], i) => {
      s += box(left + i * 132, 246, 12, 12, fill, "stroke='%GREY%'") + text(left + i * 132 + 17, 257, name, "font-size='12'");
    });
    const most = (counts) => { const x = Math.max(...counts); return x + (x === 1 ? " number" : " numbers"); };
    let words = now.words;
    if (step) words += " A rank has sent at most " + most(now.sent) + " and received at most " + most(now.received) + ".";
    const own = step === last && part("way").value === data.ways[2];
    if (step === last) words += " Every rank has the sum: " + now.hold[0].map(({ value }) => value).join(" ") + ".";
    return { svg: s, words, last, warning: own && n > 2 ? "Each rank has added in an order of its own." : "" };
  }
"""

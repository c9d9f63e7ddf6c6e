"""A figure to step through: the attention of one query, tile by tile, and the three numbers that it carries along."""

from __future__ import annotations

from .stepping import choices, stepping_figure

EXPONENTIALS = (1, 2, 3, 4, 2, 1, 8, 4)
"""The exponentials exp(score) of the eight keys. The first four, with their values, are the lesson's example by hand."""
VALUES = (6, 3, 0, 10, 5, 8, 1, 2)
TILE = 2
ORDERS = ("from the left", "from the right")
SEEN = ("all eight", "keys 0 to 4")
"""The visible keys: not causal; and causal, with the query at position 4."""
DONE, NOW = "#a9c3dd", "#f0b873"


def tile_by_tile(*, order: str = ORDERS[0], sees: str = SEEN[0]) -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`; it needs no kernel.

    One query reads eight keys in four tiles. Step 0 shows the empty state, each of four steps absorbs a tile, and the last step finishes.
    order, sees: the initial choices; ValueError for a value that is not in the lists.
    """
    data = {"exps": EXPONENTIALS, "values": VALUES, "tile": TILE, "orders": ORDERS, "seen": SEEN, "done": DONE, "now": NOW}
    controls = choices(("order", "the tiles come", ORDERS, order), ("sees", "the query sees", SEEN, sees))
    label = "Attention of one query, step by step over four tiles of keys"
    last_step = len(EXPONENTIALS) // TILE + 1
    return stepping_figure(label, data, _DRAW, last_step=last_step, controls=controls, back="Back to the empty state")


_DRAW = """
  const tiles = data.exps.length / data.tile, scores = data.exps.map(Math.log);
  const number = (x) => x === -Infinity ? "\\u2212\\u221e" : x.toFixed(4).replace("-", "\\u2212");
  const keys = (t) => Array.from({ length: data.tile }, (_, i) => t * data.tile + i);

  // The state before a tile, what the tile brings under the new maximum, and the state after it.
  function absorbed(state, tile, seen) {
    const mine = keys(tile).filter((k) => k < seen);
    const m = Math.max(state.m, ...mine.map((k) => scores[k]));
    const fade = state.m === -Infinity ? 0 : Math.exp(state.m - m);
    const weights = mine.map((k) => Math.exp(scores[k] - m));
    const l = weights.reduce((sum, w) => sum + w, 0), acc = weights.reduce((sum, w, i) => sum + w * data.values[mine[i]], 0);
    return { m, fade, weights, newL: l, newAcc: acc, l: state.l * fade + l, acc: state.acc * fade + acc, mine };
  }

  function drawn(step) {
    const order = part("order").value === data.orders[0] ? [...Array(tiles).keys()] : [...Array(tiles).keys()].reverse();
    const seen = part("sees").value === data.seen[0] ? data.exps.length : 5;
    const empty = { m: -Infinity, l: 0, acc: 0 }, finished = step > tiles;
    let before = empty, now = empty;
    for (let i = 0; i < Math.min(step, tiles); i++) {
      before = now;
      now = keys(order[i])[0] < seen ? absorbed(before, order[i], seen) : { ...before, skipped: true };
    }
    const current = step > 0 && !finished ? order[step - 1] : -1;
    const left = 74, wide = 74, gap = 10;
    const x = (k) => left + k * wide + Math.floor(k / data.tile) * gap;
    let s = "";
    for (const [y, name] of [[20, "key"], [46, "score"], [78, "value"]]) s += text(0, y, name);
    data.exps.forEach((e, k) => {
      const tile = Math.floor(k / data.tile), hidden = k >= seen;
      const fill = hidden ? "white" : tile === current ? data.now : order.indexOf(tile) < step ? data.done : "white";
      s += text(x(k) + wide / 2 - 3, 20, "" + k, "text-anchor='middle' font-size='11'");
      s += box(x(k), 28, wide - 6, 26, fill, "stroke='%GREY%'" + (hidden ? " stroke-dasharray='3 3'" : ""));
      s += text(x(k) + wide / 2 - 3, 46, hidden ? "not seen" : "ln " + e, "text-anchor='middle' font-size='12'");
      s += box(x(k), 60, wide - 6, 26, fill, "stroke='%GREY%'" + (hidden ? " stroke-dasharray='3 3'" : ""));
      s += text(x(k) + wide / 2 - 3, 78, "" + data.values[k], "text-anchor='middle' font-size='12'");
    });
    const row = (y, name, old, brought, result) => {
      s += text(0, y, name, "font-weight='bold'") + text(left, y, old) + text(left + 190, y, brought) +
        text(left + 400, y, "= " + result, "font-weight='bold'");
    };
    s += text(left, 116, "before", "font-size='11'") + text(left + 190, 116, "this tile", "font-size='11'") +
      text(left + 400, 116, "after", "font-size='11'");
    const bar = (y, was, fresh) => {
      const scale = 20, old = was * scale;
      if (was > 0) s += box(left, y, old, 10, data.done, "stroke='%GREY%'");
      if (fresh > 0) s += box(left + old, y, fresh * scale, 10, data.now, "stroke='%GREY%'");
    };
    if (step === 0 || finished || now.skipped) {
      row(138, "m", "", "", number(now.m)); row(170, "l", "", "", number(now.l)); row(214, "acc", "", "", number(now.acc));
      bar(180, now.l, 0); bar(224, now.acc, 0);
    } else {
      row(138, "m", number(before.m), "largest score " + number(Math.max(...now.mine.map((k) => scores[k]))), number(now.m));
      row(170, "l", number(before.l) + " \\u00d7 " + number(now.fade), "+ " + number(now.newL), number(now.l));
      row(214, "acc", number(before.acc) + " \\u00d7 " + number(now.fade), "+ " + number(now.newAcc), number(now.acc));
      bar(180, before.l * now.fade, now.newL); bar(224, before.acc * now.fade, now.newAcc);
    }
    const out = () => number(now.acc / now.l), lse = () => number(now.m + Math.log(now.l));
    if (finished) s += text(left, 254, "out = acc / l = " + out() + ",  lse = m + ln l = " + lse(), "font-weight='bold'");

    const state = "m " + number(now.m) + ", l " + number(now.l) + ", acc " + number(now.acc) + ".";
    let words;
    if (step === 0) words = "Nothing is absorbed yet: " + state;
    else if (finished) words = "Finished: out " + out() + ", lse " + lse() +
      ". Three numbers were kept, whatever the number of keys.";
    else if (now.skipped) words = "Tile " + step + " of " + tiles + ", keys " + keys(current).join(" and ") +
      ": the query may see none of them. The tile is not in the plan, and nothing of it is read. " + state;
    else words = "Tile " + step + " of " + tiles + ", keys " + keys(current).join(" and ") + ": " +
      (step === 1 || before.m === -Infinity ? "the first score of all. " : now.m > before.m ?
        "a new maximum, so all earlier keys count " + number(now.fade) + " times. " :
        "no new maximum, so nothing fades. ") +
      (now.mine.length < data.tile ? "Key " + keys(current)[data.tile - 1] + " is masked. " : "") +
      "Now " + state;
    return { svg: s, words };
  }
"""

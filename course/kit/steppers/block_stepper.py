"""A figure to step through: texts grow, fork, share beginnings and end, in a pool of blocks and, beside it, in one reservation each."""

from __future__ import annotations

from .stepping import choices, stepping_figure

POOL_SLOTS, ROOM = 48, 16
"""The same memory on both sides; a text in one piece gets ROOM slots, whatever it needs."""
SIZES = ("2", "4", "8")
POOLS = ("remembers beginnings", "has no names for beginnings")
STORY = (
    ("read", "A", 6, "A reads a prompt of 6 tokens."),
    ("read", "B", 9, "B reads a prompt of 9 tokens and publishes its whole blocks."),
    ("fork", "A", "C", "C is a fork of A: a second answer to the same prompt."),
    ("write", "C", 1, "C writes a token."),
    ("write", "A", 2, "A writes 2 tokens."),
    ("like", "B", "D", "D has a prompt of 9 tokens, of which the first 8 are those of B."),
    ("end", "B", 0, "B has ended."),
    ("end", "D", 0, "D has ended too: nobody holds the beginning that both had."),
    ("like", "B", "E", "E has a prompt of 9 tokens that begins with the same 8."),
)
"""The story: (event, its text, its number of tokens or the new text's name, in words)."""
PROMPT, ALIKE = 9, 8


def blocks_in_use(*, size: str = SIZES[1], pool: str = POOLS[0]) -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`; it needs no kernel.

    The memory has 48 slots, cut into blocks on the left and into three reservations on the right. Each line of STORY is a step. size, pool:
    the initial choices; ValueError for a value that is not in the lists.
    """
    data = {"slots": POOL_SLOTS, "room": ROOM, "pools": POOLS, "story": STORY, "prompt": PROMPT, "alike": ALIKE}
    controls = choices(("size", "tokens in a block", SIZES, size), ("pool", "a pool that", POOLS, pool))
    label = "A pool of blocks beside reservations of one piece, step by step"
    return stepping_figure(label, data, _DRAW, last_step=len(STORY), controls=controls, back="Back to the empty memory")


_DRAW = """
  const colours = { A: "%BLUE%", B: "%ORANGE%", C: "%GREEN%", D: "%PURPLE%", E: "%GREY%" };

  // What is in memory after so many steps of the story.
  function played(steps, size, remembers) {
    const holders = Array.from({ length: data.slots / size }, () => []), idle = [], texts = {};
    const now = { holders, idle, texts, pieces: Array(data.slots / data.room).fill(null), waiting: [], fed: 0, copies: 0, found: 0 };
    let known = [];
    function take(name) {
      let block = holders.findIndex((names, i) => !names.length && !idle.includes(i));
      if (block < 0) { block = idle.shift(); known = known.slice(0, known.indexOf(block)); }
      holders[block].push(name);
      return block;
    }
    function grow(name, n) {
      const text = texts[name], end = text.table.length - 1;
      if (text.length % size && holders[text.table[end]].length > 1) {
        const old = text.table[end];
        text.table[end] = take(name);
        holders[old] = holders[old].filter((other) => other !== name);
        now.copies += 1;
      }
      text.length += n;
      while (text.table.length * size < text.length) text.table.push(take(name));
    }
    function settle(name) {
      const place = now.pieces.indexOf(null);
      if (place < 0) now.waiting.push(name); else now.pieces[place] = name;
    }
    for (const [what, name, more] of data.story.slice(0, steps)) {
      now.copies = now.found = 0;
      if (what === "read" || what === "like") {
        const reader = what === "read" ? name : more, length = what === "read" ? more : data.prompt;
        texts[reader] = { table: [], length: 0 };
        if (what === "like" && remembers) {
          texts[reader].table = [...known];
          for (const block of known) {
            holders[block].push(reader);
            if (idle.includes(block)) idle.splice(idle.indexOf(block), 1);
          }
          texts[reader].length = now.found = known.length * size;
        }
        now.fed += length - texts[reader].length;
        grow(reader, length - texts[reader].length);
        if (name === "B" && what === "read") known = texts.B.table.slice(0, Math.floor(data.alike / size));
        settle(reader);
      } else if (what === "fork") {
        texts[more] = { table: [...texts[name].table], length: texts[name].length };
        for (const block of texts[name].table) holders[block].push(more);
        settle(more);
      } else if (what === "write") {
        now.fed += more;
        grow(name, more);
      } else {
        for (const block of [...texts[name].table].reverse()) {
          holders[block] = holders[block].filter((other) => other !== name);
          if (remembers && !holders[block].length && known.includes(block)) idle.push(block);
        }
        delete texts[name];
        now.pieces = now.pieces.map((other) => other === name ? null : other);
        now.waiting = now.waiting.filter((other) => other !== name);
        while (now.waiting.length && now.pieces.includes(null)) settle(now.waiting.shift());
      }
    }
    return now;
  }

  const side = 19;
  function square(x, y, names, filled) {
    if (!filled || !names.length) return box(x, y, side - 2, side - 2, "white", "stroke='%GREY%'");
    let s = box(x, y, side - 2, side - 2, colours[names[0]], "stroke='%GREY%' fill-opacity='0.55'");
    if (names.length > 1) for (const shift of [0, 6, 12]) {
      const stripe = "M" + (x + shift) + " " + (y + side - 3) + " l5 -" + (side - 4);
      s += "<path d='" + stripe + "' stroke='" + colours[names[1]] + "' stroke-width='3'/>";
    }
    return s;
  }

  function drawn(step) {
    const size = Number(part("size").value), remembers = part("pool").value === data.pools[0];
    const now = played(step, size, remembers), perRow = data.room / size;
    const filled = (block, place) => now.holders[block].some((name) => {
      const text = now.texts[name];
      return text.table.indexOf(block) * size + place < text.length;
    });
    let s = text(0, 16, "in blocks of " + size, "font-weight='bold'") + text(392, 16, "in one piece of " + data.room, "font-weight='bold'");
    let places = 0, held = 0, shared = 0;
    now.holders.forEach((names, block) => {
      const x = (block % perRow) * (size * side + 4), y = 42 + Math.floor(block / perRow) * 48;
      held += names.length > 0; shared += names.length > 1;
      const label = block + (names.length ? " " + names.join("") : now.idle.includes(block) ? " idle" : "");
      s += text(x, y - 4, size > 2 ? label : names.join(""), "font-size='11'");
      for (let place = 0; place < size; place++) {
        const full = names.length > 0 && filled(block, place);
        places += full;
        s += now.idle.includes(block) ? box(x + place * side, y, side - 2, side - 2, "%LIGHT%", "stroke='%GREY%' stroke-dasharray='3 2'")
          : square(x + place * side, y, names, full);
      }
    });
    let used = 0;
    now.pieces.forEach((name, row) => {
      const y = 42 + row * 48, length = name ? now.texts[name].length : 0;
      used += length;
      s += text(392, y - 4, name || "free", "font-size='11'");
      for (let place = 0; place < data.room; place++) s += square(392 + place * side, y, name ? [name] : [], place < length);
    });
    if (now.waiting.length) s += text(392, 182, "waiting: " + now.waiting.join(" "), "font-weight='bold'");
    Object.keys(now.texts).forEach((name, i) => {
      s += box((i % 2) * 196, 172 + Math.floor(i / 2) * 26, 12, 12, colours[name], "fill-opacity='0.55' stroke='%GREY%'");
      s += text((i % 2) * 196 + 18, 183 + Math.floor(i / 2) * 26, name + ": " + now.texts[name].table.join(" "), "font-size='12'");
    });

    const reserved = now.pieces.filter((name) => name).length * data.room;
    const empty = held * size - places;
    let words = step === 0 ? "Nothing is in memory yet." : data.story[step - 1][3];
    if (now.copies) words += " Its last block is part full and shared: it is copied first.";
    if (now.found) words += " The pool finds " + now.found + " of its tokens" +
      (step === data.story.length ? ", though nobody held them any more." : ".");
    words += " Blocks: " + held + " of " + now.holders.length + " are held, " + shared + " by more than one text, " + empty +
      " of their places are empty; " + now.fed + " tokens fed so far. One piece: " + reserved + " of " + data.slots +
      " slots are reserved, " + (reserved - used) + " of them are empty.";
    return { svg: s, words, warning: now.waiting.length ? "In one piece " + now.waiting.join(" and ") + " must wait." : "" };
  }
"""

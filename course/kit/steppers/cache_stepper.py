"""A figure to step through: a KV cache as it fills, and the steps in which the window slides."""

from __future__ import annotations

from .stepping import stepping_figure

WORDS = ("the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "ran", "to", "it", ".")
NUM_PROMPT, NUM_SLOTS, NUM_LAYERS = 6, 10, 3
BYTES_PER_TOKEN = 23_040  # SmolLM2, 16 bits a value
NEW, OLD = "#f0b873", "#a9c3dd"


def cache_filling() -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`; it needs no kernel.

    The prompt has 6 tokens and the cache 10 slots. The 7 steps are one prefill, four decode steps that fill the cache, and two decode steps
    in which the window slides.
    """
    data = {
        "words": WORDS,
        "prompt": NUM_PROMPT,
        "slots": NUM_SLOTS,
        "layers": NUM_LAYERS,
        "bytes": BYTES_PER_TOKEN,
        "fresh": NEW,
        "old": OLD,
    }
    return stepping_figure("A KV cache as it fills, step by step", data, _DRAW, last_step=len(WORDS) - NUM_PROMPT - 1)


_DRAW = """
  function state(index) {
    const text = data.prompt + index;                       // tokens that are there when the step begins
    const first = Math.max(0, text - data.slots);           // the first token of the window
    const rebuilt = index > 0 && text > data.slots;
    const fresh = index === 0 || rebuilt ? text - first : 1;
    return { text, first, rebuilt, fresh, naive: text - first, filled: text - first };
  }

  function drawn(step) {
    const now = state(step);
    let cached = 0, naive = 0, s = "";
    for (let i = 0; i <= step; i++) { cached += state(i).fresh; naive += state(i).naive; }
    const wide = 50, left = 66;
    const cell = (x, y, w, h, fill) => box(x, y, w, h, fill, "stroke='%GREY%'");
    const name = step === 0 ? "Prefill" : "Step " + step + (now.rebuilt ? ": the window has slid" : ": decode");
    s += text(0, 18, name, "font-size='16' font-weight='bold'");
    s += text(0, 56, "text");
    for (let i = 0; i <= now.text; i++) {
      const out = i === now.text, lost = i < now.first, isNew = !out && i >= now.text - now.fresh;
      s += cell(left + i * wide, 36, wide - 4, 30, out || lost ? "white" : isNew ? data.fresh : data.old);
      s += text(left + i * wide + wide / 2 - 2, 56, data.words[i],
        "text-anchor='middle' font-size='12'" + (lost ? " opacity='0.45'" : out ? " font-weight='bold'" : ""));
    }
    s += text(left + now.text * wide + wide / 2 - 2, 80, "new", "text-anchor='middle' font-size='11'");
    for (let layer = 0; layer < data.layers; layer++) {
      const y = 96 + layer * 38;
      s += text(0, y + 19, "layer " + layer);
      for (let slot = 0; slot < data.slots; slot++) {
        const filled = slot < now.filled, isNew = filled && slot >= now.filled - now.fresh;
        s += cell(left + slot * wide, y, wide - 4, 30, isNew ? data.fresh : filled ? data.old : "white");
        const middle = left + slot * wide + wide / 2 - 2;
        if (filled) s += text(middle, y + 19, "k v " + (now.first + slot), "text-anchor='middle' font-size='11'");
      }
    }
    const scale = 560 / 64;
    s += text(0, 226, "so far");
    s += cell(left, 214, cached * scale, 14, data.fresh) + text(left + cached * scale + 6, 226, cached + " with a cache", "font-size='11'");
    s += cell(left, 234, naive * scale, 14, "%LIGHT%") + text(left + naive * scale + 6, 246, naive + " without", "font-size='11'");

    const tokens = (n) => n === 1 ? "1 token passes" : n + " tokens pass";
    let words = name + ". " + tokens(now.fresh) + " through the layers, and the model chooses \\u201c" + data.words[now.text] + "\\u201d. ";
    if (step === 0) words += "Each layer stores a key and a value for each of them. ";
    else if (now.rebuilt) words += "The text is longer than " + data.slots + " tokens: the cache was emptied and filled again " +
      "from the last " + data.slots + ", because the old entries were computed while token " + (now.first - 1) + " could still be seen. ";
    else words += "Each layer writes slot " + (now.filled - 1) + " and reads slots 0 to " + (now.filled - 1) + ". ";
    words += "Without a cache " + tokens(now.naive) + ". So far " + cached + " positions, without a cache " + naive + ". " +
      "In SmolLM2, 16 bits a value: " + (now.filled * data.bytes).toLocaleString("en") + " bytes filled of " +
      (data.slots * data.bytes).toLocaleString("en") + " allocated.";
    return { svg: s, words };
  }
"""

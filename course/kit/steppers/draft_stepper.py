"""A figure to step through: a draft guesses, one pass checks, rejected guesses leave the cache again. Greedy decoding of twelve tokens."""

from __future__ import annotations

from .stepping import choices, sliders, stepping_figure

PROMPT = ("x", "=", "x", "+", "1", ";", "y", "=", "y", "+", "1", ";")
ANSWER = ("x", "=", "x", "+", "2", ";", "y", "=", "y", "+", "2", ";")
"""The model's answer after the prompt, token by token."""
DRAFTS = ("looks it up", "is always right", "is always wrong", "guesses nothing")
MAX_NGRAM, MOST = 3, 8
"""The longest match that the first draft looks for; the right end of the slider for k."""
WRONG = "?"
"""The guess of the draft that is always wrong."""


def round_by_round(*, k: int = 4, draft: str = DRAFTS[0]) -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`; it needs no kernel.

    After a prefill come rounds of up to three steps: the pass reads the newest token and the guesses, the rows show the accepted guesses,
    and the rejected guesses leave the cache. k, draft: the initial choices; ValueError for a value that is not on the slider or in the
    list.
    """
    data = {"prompt": PROMPT, "answer": ANSWER, "drafts": DRAFTS, "ngram": MAX_NGRAM, "wrong": WRONG}
    controls = choices(("draft", "the draft", DRAFTS, draft)) + sliders(("k", "k", (1, MOST), k))
    return stepping_figure("Speculative decoding, round by round", data, _DRAW, controls=controls, back="Back to the beginning")


_DRAW = """
  const whole = [...data.prompt, ...data.answer], start = data.prompt.length;

  function lookedUp(text, k) {
    for (let n = Math.min(data.ngram, text.length - 1); n; n--)
      for (let at = text.length - n - 1; at >= 0; at--)
        if (text.slice(at, at + n).join(" ") === text.slice(-n).join(" ")) return text.slice(at + n, at + n + k);
    return [];
  }
  function guessed(draft, length, k) {
    if (draft === data.drafts[0]) return lookedUp(whole.slice(0, length), k);
    if (draft === data.drafts[1]) return whole.slice(length, length + k);
    return draft === data.drafts[2] ? Array(k).fill(data.wrong) : [];
  }

  // Every step for a draft and its k. made: for each token of the answer, whether it was guessed. cached: tokens with keys and values.
  function played(draft, k) {
    const made = [], steps = [{ made: [], cached: 0, words: "Nothing has been read yet." }];
    let passes = 0, positions = 0;
    const step = (words, more) => steps.push(Object.assign({ made: [...made], words, passes, positions }, more));
    const quoted = (tokens) => tokens.map((token) => "'" + token + "'").join(" ");
    while (made.length < data.answer.length) {
      const length = start + made.length;
      if (!passes) {
        passes = 1;
        positions = start;
        made.push(false);
        step("Pass 1, the prefill: " + start + " tokens are fed, and the model says " + quoted([whole[start]]) + ".", { cached: start });
        continue;
      }
      const room = Math.min(k, whole.length - length - 1), guess = room ? guessed(draft, length, room) : [];
      const after = length + guess.length;
      let kept = 0;
      while (kept < guess.length && guess[kept] === whole[length + kept]) kept += 1;
      passes += 1;
      positions += 1 + guess.length;
      const pass = "Pass " + passes + ": ", count = (n) => n + (n === 1 ? " guess" : " guesses");
      if (!guess.length) {
        made.push(false);
        step(pass + "the newest token is fed alone, and the model says " + quoted([whole[length]]) + ".", { cached: length });
        continue;
      }
      step(pass + "the newest token is fed with " + count(guess.length) + ", " + quoted(guess) + ". The cache grows from " +
        (length - 1) + " to " + after + ".", { guess, cached: after });
      const own = quoted([whole[length + kept]]);
      for (let i = 0; i < kept; i++) made.push(true);
      made.push(false);
      const all = kept === guess.length;
      step(pass + kept + " of " + count(guess.length) + (kept === 1 ? " stays" : " stay") + ". " +
        (all ? "The extra token is " + own + "." : own + " takes the place of " + quoted([guess[kept]]) + "."),
        { guess, kept, cached: after });
      if (!all) step(pass + "the cache is cut back from " + after + " to " + (length + kept) + ": the text without its newest token.",
        { cached: length + kept });
    }
    return { steps, passes, positions };
  }

  const left = 52, wide = 27.5;
  function drawn(at) {
    const { steps, passes, positions } = played(part("draft").value, Number(part("k").value));
    const now = steps[Math.min(at, steps.length - 1)], asked = now.guess || [], known = now.kept !== undefined;
    const first = start + now.made.length - (known ? now.kept + 1 : 0);  // the place of the first guess
    let s = "";
    const token = (place, y, word, fill, ink, more) => box(left + place * wide, y, wide - 2, 26, fill, more || "") +
      "<text x='" + (left + (place + 0.5) * wide - 1) + "' y='" + (y + 18) + "' fill='" + ink + "' text-anchor='middle'>" +
      word + "</text>";
    [["text", 24], ["guess", 74], ["rows", 124], ["cache", 186]].forEach(([name, y]) => { s += text(2, y + 18, name); });
    const read = now.cached ? start + now.made.length : start;
    whole.slice(0, read).forEach((word, place) => {
      const own = place >= start;
      s += token(place, 24, word, !own ? "%LIGHT%" : now.made[place - start] ? "%GREEN%" : "%BLUE%", own ? "white" : "#222");
    });
    asked.forEach((word, i) => {
      const fill = !known ? "white" : i < now.kept ? "%GREEN%" : "%RED%";
      s += token(first + i, 74, word, fill, known ? "white" : "#222", known ? "" : "stroke='%GREY%'");
    });
    if (known) for (let i = 0; i <= asked.length; i++) {
      const own = i === now.kept, says = i <= now.kept ? whole[first + i] : "·";  // rows after a refused guess do not count
      s += token(first + i, 124, says, own ? "%BLUE%" : "white", own ? "white" : "#222", "stroke='%GREY%'");
    }
    whole.forEach((_, place) => {
      const refused = known && place < now.cached && place >= first + now.kept;
      const fill = refused ? "%RED%" : place < now.cached ? "%GREY%" : "white";
      s += box(left + place * wide, 190, wide - 2, 16, fill, "stroke='%LIGHT%'");
    });
    const legend = [["%LIGHT%", "prompt"], ["%GREEN%", "guessed, stays"], ["%BLUE%", "the model's own"], ["%RED%", "refused"],
      ["%GREY%", "keys and values"]];
    legend.forEach(([fill, name], i) => {
      s += box(left + i * 132, 236, 12, 12, fill) + text(left + i * 132 + 17, 247, name, "font-size='12'");
    });

    let words = now.words;
    if (now.passes) words += " So far " + now.made.length + " of " + data.answer.length + " tokens in " + now.passes +
      (now.passes === 1 ? " pass" : " passes") + ", " + now.positions + " positions.";
    return { svg: s, words: words + " In all " + passes + " passes, " + positions + " positions.", last: steps.length - 1 };
  }
"""

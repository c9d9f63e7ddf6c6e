"""A figure to step through: one prefill and the decodes after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..hardware import HARDWARE
from ..machine import Machine
from .stepping import choices, stepping_figure

NUM_DECODES = 12
PROMPTS = (16, 128, 512, 2048, 8192)


@dataclass(frozen=True)
class Shape:
    """The parts of a model's shape on which its costs depend."""

    name: str
    num_params: int
    num_layers: int
    num_kv_heads: int
    head_dim: int

    @property
    def cache_values(self) -> int:
        """Return how many numbers the KV cache stores for one token."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim


# Shapes from the models' config.json; the parameters are those of their tensors.
SHAPES = (
    Shape("SmolLM2-135M", 134_515_008, 30, 3, 64),
    Shape("Llama 2 7B", 6_738_415_616, 32, 32, 128),
    Shape("Llama 3 8B", 8_030_261_248, 32, 8, 128),
    Shape("Llama 3 70B", 70_553_706_496, 80, 8, 128),
)


def prefill_and_decode(here: Machine | None = None, *, model: str = "Llama 3 8B", machine: str = "H100", prompt: int = 512) -> str:
    """Return HTML of the stepper, to be shown with `IPython.display.HTML`.

    here: this machine, measured in float32 and added to the list of machines. model, machine, prompt: the initial choices. Times are the
    roofline's: 2N FLOPs a token, with the weights and the cache so far read once a step. A value has 16 bits, or 32 on this machine.
    """
    machines = machine_data(here)
    data = {"models": [{"name": s.name, "params": s.num_params, "cache": s.cache_values} for s in SHAPES], "machines": machines}
    controls = choices(
        ("model", "model", [s.name for s in SHAPES], model),
        ("machine", "machine", [str(m["name"]) for m in machines], machine),
        ("prompt", "prompt, in tokens", [f"{p:,}" for p in PROMPTS], f"{prompt:,}"),
    )
    return stepping_figure("One prefill and the decodes after it, step by step", data, _DRAW, last_step=NUM_DECODES, controls=controls)


def machine_data(here: Machine | None) -> list[dict[str, Any]]:
    """Return the machines of the datasheets with 16 bits a value, and this machine, if it was measured, with 32."""
    machines: list[dict[str, Any]] = [
        {"name": h.machine.name, "peak": h.machine.peak_flops, "bandwidth": h.machine.bandwidth, "memory": h.memory_bytes, "bytes": 2}
        for h in HARDWARE
    ]
    if here is not None:
        machines.append({"name": here.name, "peak": here.peak_flops, "bandwidth": here.bandwidth, "memory": None, "bytes": 4})
    return machines


_DRAW = """
  function costs(model, machine, prompt, index) {
    const tokens = index === 0 ? prompt : 1;
    const flops = 2 * model.params * tokens;
    const weights = model.params * machine.bytes;
    const cache = index === 0 ? 0 : model.cache * machine.bytes * (prompt + index - 1);
    const arithmetic = flops / machine.peak, reading = (weights + cache) / machine.bandwidth;
    const time = Math.max(arithmetic, reading);
    return { tokens, flops, weights, cache, arithmetic, reading, time, used: flops / (machine.peak * time) };
  }

  function drawn(step) {
    const model = data.models[part("model").selectedIndex];
    const machine = data.machines[part("machine").selectedIndex];
    const prompt = Number(part("prompt").value.replace(/,/g, ""));
    const all = [];
    for (let i = 0; i <= step; i++) all.push(costs(model, machine, prompt, i));
    const now = all[step], total = all.reduce((sum, c) => sum + c.time, 0);
    const name = step === 0 ? "Prefill" : "Decode step " + step;
    const longest = now.time, width = 410, left = 150;
    let s = "";

    s += text(0, 18, name, "font-size='16' font-weight='bold'");
    const shown = Math.min(now.tokens, 24);
    for (let i = 0; i < shown; i++) s += box(i * 11, 38, 9, 26, "%GREY%");
    s += text(0, 82, now.tokens === 1 ? "1 token in" :
      now.tokens.toLocaleString("en") + " tokens in" + (shown < now.tokens ? " (24 drawn)" : ""));
    s += "<path d='M 275 51 h 45 m -8 -5 l 8 5 l -8 5' fill='none' stroke='%GREY%' stroke-width='1.5'/>";
    s += box(330, 32, 180, 38, "white", "stroke='%GREY%'") + text(420, 56, model.name, "text-anchor='middle'");
    s += "<path d='M 520 51 h 45 m -8 -5 l 8 5 l -8 5' fill='none' stroke='%GREY%' stroke-width='1.5'/>";
    s += box(578, 38, 9, 26, "%GREY%") + text(578, 82, "1 token out");

    const readWidth = width * now.reading / longest, weightWidth = readWidth * now.weights / (now.weights + now.cache);
    const larger = now.reading >= now.arithmetic;
    s += text(0, 122, "read from memory", larger ? "font-weight='bold'" : "");
    s += box(left, 106, weightWidth, 22, "%BLUE%");
    if (now.cache > 0) s += box(left + weightWidth, 106, readWidth - weightWidth, 22, "%LIGHT%", "stroke='%BLUE%'");
    s += text(left + readWidth + 8, 122, seconds(now.reading));
    const readNote = amount(now.weights, "B") + " of weights" + (now.cache > 0 ? ", " + amount(now.cache, "B") + " of cache" : "");
    s += text(left, 144, readNote, "font-size='11'");
    s += text(0, 172, "arithmetic", larger ? "" : "font-weight='bold'");
    s += box(left, 156, width * now.arithmetic / longest, 22, "%ORANGE%");
    s += text(left + Math.max(width * now.arithmetic / longest, 1.5) + 8, 172, seconds(now.arithmetic));
    s += text(left, 194, amount(now.flops, "FLOP") + ", " + share(now.used) + " of the peak used", "font-size='11'");

    s += text(0, 236, "so far " + seconds(total));
    let x = left;
    all.forEach((c, i) => {
      const w = 480 * c.time / total;
      s += box(x, 220, Math.max(w - 1, 1), 22, i === 0 ? "%GREEN%" : "%PURPLE%");
      x += w;
    });
    s += text(left, 258, "the prefill is green, each decode step purple", "font-size='11'");

    const decides = larger ? "reading the weights" + (now.cache > 0 ? " and the cache" : "") + " decides" : "the arithmetic decides";
    const words = name + " of " + model.name + " on " + machine.name + ": " +
      (now.tokens === 1 ? "1 token" : now.tokens.toLocaleString("en") + " tokens") + " in, one token out. Reading " +
      amount(now.weights + now.cache, "B") + " takes " + seconds(now.reading) + ", the arithmetic (" + amount(now.flops, "FLOP") + ") " +
      seconds(now.arithmetic) + "; " + decides + ": " + seconds(now.time) + " at the least, and " + share(now.used) +
      " of the peak is used. So far " + (step + 1) + (step === 0 ? " token" : " tokens") + " in " + seconds(total) + ".";
    const needed = now.weights + model.cache * machine.bytes * (prompt + step);
    const warning = machine.memory !== null && needed > machine.memory ?
      "Weights and cache are " + amount(needed, "B") + ", one " + machine.name + " has " + amount(machine.memory, "B") +
      ": it would take several of them." : "";
    return { svg: s, words, warning };
  }
"""

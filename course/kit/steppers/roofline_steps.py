"""A figure to step through: a machine's roofline, with twice as many tokens per pass in each step."""

from __future__ import annotations

from ..machine import Machine
from .stepper import SHAPES, machine_data
from .stepping import choices, stepping_figure

DOUBLINGS = 12
BITS = (32, 16, 8, 4)


def up_the_roof(here: Machine | None = None, *, model: str = "Llama 3 8B", machine: str = "H100", bits: int = 16) -> str:
    """Return HTML of the figure, to be shown with `IPython.display.HTML`; it needs no kernel.

    Step i is a pass over 2^i tokens, up to 4,096. here: this machine, added to the list of machines. model, machine, bits (of a weight):
    the initial choices; ValueError for a value that is not in the lists. A pass does 2N FLOPs a token and reads each of the N weights once;
    the cache is not counted. The peak is always the machine's for 16 bits (float32 on this machine), because weights of fewer bits are
    unpacked before they are multiplied.
    """
    machines = machine_data(here)
    data = {"models": [{"name": s.name, "params": s.num_params} for s in SHAPES], "machines": machines}
    controls = choices(
        ("model", "model", [s.name for s in SHAPES], model),
        ("machine", "machine", [str(m["name"]) for m in machines], machine),
        ("bits", "bits of a weight", [str(b) for b in BITS], str(bits)),
    )
    label = "A pass under the roofline, step by step with twice the tokens"
    return stepping_figure(label, data, _DRAW, last_step=DOUBLINGS, controls=controls, back="Back to one token")


_DRAW = """
  const left = 96, right = 700, top = 18, bottom = 218;
  const lowest = -5, highest = 14;                           // powers of two: FLOP for each byte, from left to right
  const depth = 13;                                          // powers of two below the peak
  const across = (intensity) => left + (right - left) * (Math.log2(intensity) - lowest) / (highest - lowest);
  const down = (part) => top + (bottom - top) * Math.min(-Math.log2(part), depth) / depth;

  function pass(model, machine, bits, tokens) {
    const flops = 2 * model.params * tokens, bytes = model.params * bits / 8;
    const time = Math.max(flops / machine.peak, bytes / machine.bandwidth);
    return { tokens, intensity: flops / bytes, time, used: flops / time / machine.peak, speed: tokens / time };
  }

  function drawn(step) {
    const model = data.models[part("model").selectedIndex];
    const machine = data.machines[part("machine").selectedIndex];
    const bits = Number(part("bits").value), balance = machine.peak / machine.bandwidth;
    const now = pass(model, machine, bits, 2 ** step), one = pass(model, machine, bits, 1);
    let s = "";
    for (let power = lowest + 1; power <= highest; power += 3) {
      const x = across(2 ** power);
      s += "<path d='M " + x + " " + top + " V " + bottom + "' stroke='%LIGHT%'/>";
      s += text(x, bottom + 16, power < 0 ? "1/" + 2 ** -power : (2 ** power).toLocaleString("en"), "text-anchor='middle' font-size='11'");
    }
    for (let halvings = 0; halvings <= depth; halvings += 4) {
      const y = down(2 ** -halvings);
      s += "<path d='M " + left + " " + y + " H " + right + "' stroke='%LIGHT%'/>";
      s += text(left - 8, y + 4, amount(machine.peak / 2 ** halvings, "FLOP/s"), "text-anchor='end' font-size='11'");
    }
    s += text((left + right) / 2, bottom + 36, "FLOP for each byte that is read", "text-anchor='middle'");
    const slopeFrom = Math.max(2 ** lowest, balance / 2 ** depth);
    s += "<path d='M " + across(slopeFrom) + " " + down(slopeFrom / balance) + " L " + across(balance) + " " + top + " H " + right +
      "' fill='none' stroke='%BLUE%' stroke-width='2.5'/>";
    s += "<path d='M " + across(balance) + " " + top + " V " + bottom + "' stroke='%GREY%' stroke-dasharray='3 4'/>";
    s += text(across(balance) + 6, bottom - 8, "balance " + digits(balance), "font-size='11'");
    for (let i = 0; i <= step; i++) {
      const p = pass(model, machine, bits, 2 ** i), here = i === step;
      s += "<circle cx='" + across(p.intensity) + "' cy='" + down(p.used) + "' r='" + (here ? 7 : 4) + "' fill='" +
        (here ? "%ORANGE%" : "%GREY%") + "'/>";
    }
    const memory = now.intensity < balance, many = now.tokens === 1 ? "1 token" : now.tokens.toLocaleString("en") + " tokens";
    const far = across(now.intensity) > 560;
    s += text(across(now.intensity) + (far ? 0 : 12), down(now.used) + 24, many, "font-weight='bold'" + (far ? " text-anchor='end'" : ""));

    const words = many + " in one pass of " + model.name + " on " + machine.name + ", " + bits + " bits a weight: " +
      digits(now.intensity) + " FLOP for each byte, " + (memory ? "below" : "above") + " the balance of " + digits(balance) +
      ". " + (memory ? "Memory" : "Arithmetic") + " decides: the pass takes " + seconds(now.time) + ", that is " + digits(now.speed) +
      " tokens a second with " + share(now.used) + " of the peak." +
      (step === 0 ? "" : " One token alone takes " + seconds(one.time) + ".");
    const needed = model.params * bits / 8;
    const warning = machine.memory !== null && needed > machine.memory ?
      "The weights alone are " + amount(needed, "B") + ", one " + machine.name + " has " + amount(machine.memory, "B") + "." : "";
    return { svg: s, words, warning };
  }
"""

"""Draws the figures of this day. Run it again after a change: `python course/day09_costs/figures.py`."""

from pathlib import Path
from typing import Any

from course.kit import plots
from course.kit.hardware import HARDWARE
from solutions.costs import cached_positions, decode_flops, naive_positions, prefill_flops, roofline_seconds, weight_bytes

FIGURES = Path(__file__).parent / "figures"
MACHINES = {h.machine.name: h.machine for h in HARDWARE}
N, T_PROMPT, T_NEW = 7_000_000_000, 512, 128  # hand_computed.toml, costs.request_7b
CACHE_70B = 2 * 80 * 128 * 2  # bytes a token and key/value head; hand_computed.toml, costs.cache_70b


def two_phases() -> None:
    a100 = MACHINES["A100"]
    flops = [prefill_flops(N, T_PROMPT), decode_flops(N, T_NEW)]
    weights = weight_bytes(N, 2)
    prefill = roofline_seconds(flops[0], weights, a100.peak_flops, a100.bandwidth)
    decode = T_NEW * roofline_seconds(decode_flops(N, 1), weights, a100.peak_flops, a100.bandwidth)
    fig, ax = plots.figure(width=9.5, height=2.4)
    rows = [("time at the least", [prefill, decode], ["23 ms", "896 ms"]), ("arithmetic", flops, ["7.168 TFLOP", "1.792 TFLOP"])]
    for y, (_, values, words) in enumerate(rows):
        start = 0.0
        for value, word, colour, name in zip(values, words, (plots.BLUE, plots.ORANGE), ("prefill", "decode"), strict=True):
            share = value / sum(values)
            ax.barh(y, share, left=start, height=0.55, color=colour)
            between = "\n" if 0.1 < share < 0.3 else " "  # a narrow bar takes two lines
            label = f"{name}: {word},{between}{100 * share:.1f} %"
            if share < 0.1:
                ax.annotate(label, (start + share / 2, y - 0.28), (0.002, y - 0.62), fontsize=9)
            else:
                dark = colour == plots.BLUE
                ax.text(start + share / 2, y, label, ha="center", va="center", color="white" if dark else "black", fontsize=9)
            start += share
    ax.set_yticks([0, 1], [name for name, _, _ in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, 1)
    ax.set_ylim(-0.8, 1.4)
    ax.set_xticks([])
    for side in ("bottom", "left"):
        ax.spines[side].set_visible(False)
    plots.save(fig, FIGURES / "two_phases.svg")


def roofline() -> None:
    fig, ax = plots.figure(width=8, height=4.2)
    intensities = [0.25 * 2 ** (i / 8) for i in range(8 * 13 + 1)]
    for name, colour, dash in (("A100", plots.BLUE, "-"), ("H100", plots.ORANGE, "--")):
        machine = MACHINES[name]
        rates = [min(machine.peak_flops, i * machine.bandwidth) / 1e12 for i in intensities]
        ax.plot(intensities, rates, dash, color=colour, label=f"{name}: balance {machine.balance:.0f} FLOP/byte")
        ax.plot([machine.balance], [machine.peak_flops / 1e12], "o", color=colour)
    a100 = MACHINES["A100"]
    for tokens, words, place in (
        (1, "decode, one token\n2 TFLOP/s", (1.25, 0.7)),
        (6, "six tokens\n12 TFLOP/s", (8, 4.5)),
        (512, "prefill, 512 tokens\n312 TFLOP/s", (330, 45)),
    ):
        rate = min(a100.peak_flops, tokens * a100.bandwidth) / 1e12
        ax.plot([tokens], [rate], "s", color="black", markersize=6)
        ax.annotate(words, (tokens, rate), place, fontsize=9, arrowprops={"arrowstyle": "-", "color": plots.GREY})
    log_axes(ax)
    ax.set_xlabel("arithmetic intensity, FLOP for each byte read")
    ax.set_ylabel("TFLOP/s at the most")
    ax.legend(loc="upper left")
    ax.set_ylim(0.3, 4000)
    plots.save(fig, FIGURES / "roofline.svg")


def log_axes(ax: Any) -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ticks = [1, 4, 16, 64, 256, 1024]
    ax.set_xticks(ticks, [f"{t:,}" for t in ticks])
    ax.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    ax.minorticks_off()
    ax.grid(True)


def cache() -> None:
    fig, ax = plots.figure(width=8, height=3.4)
    tokens = list(range(0, 65537, 4096))
    for heads, colour, dash in ((64, plots.ORANGE, "-"), (8, plots.BLUE, "--")):
        ax.plot(tokens, [CACHE_70B * heads * t / 1e9 for t in tokens], dash, color=colour, label=f"cache, {heads} key/value heads")
    ax.axhline(140, color=plots.GREY, linestyle=":", label="the weights: 70 billion, fp16")
    ax.plot([4096, 4096], [10.74, 1.34], "o", color="black")
    ax.annotate(
        "4,096 tokens: 10.74 GB and 1.34 GB", (4096, 10.74), (17000, 28), fontsize=9, arrowprops={"arrowstyle": "-", "color": plots.GREY}
    )
    ticks = [0, 16384, 32768, 49152, 65536]
    ax.set_xticks(ticks, [f"{t:,}" for t in ticks])
    ax.set_xlabel("tokens of all sequences together")
    ax.set_ylabel("GB")
    ax.set_ylim(0, 240)
    ax.grid(True)
    ax.legend(loc="upper left")
    plots.save(fig, FIGURES / "cache.svg")


def positions() -> None:
    t0, g = 6, 8
    fig, (left, right) = plots.figure(1, 2, width=9, height=2.9)
    for ax, cached in ((left, False), (right, True)):
        for step in range(g):
            first = 0 if not cached or step == 0 else t0 + step - 1
            for place in range(t0 + step):
                worked = place >= first
                again = worked and step > 0 and place < t0 + step - 1
                colour = plots.ORANGE if again else plots.BLUE if worked else "white"
                ax.add_patch(square(place, step, colour))
        count = cached_positions(t0, g) if cached else naive_positions(t0, g)
        ax.set_title(f"{'with a cache' if cached else 'the whole text each time'}: {count} positions")
        ax.set_xlim(-0.5, t0 + g)
        ax.set_ylim(g, -0.5)
        ax.set_xticks([])
        ax.set_yticks(range(g), [str(i + 1) for i in range(g)])
        ax.set_ylabel("new token")
        ax.set_xlabel("position in the text")
        for side in ("bottom", "left"):
            ax.spines[side].set_visible(False)
    plots.save(fig, FIGURES / "positions.svg")


def square(x: int, y: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.42, y - 0.42), 0.84, 0.84, facecolor=colour, edgecolor=plots.LIGHT)


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    two_phases()
    roofline()
    cache()
    positions()

"""Draws the figures of this day. Run it again after a change: `python course/day08_latency/figures.py`."""

from pathlib import Path

from course.kit import plots

FIGURES = Path(__file__).parent / "figures"
TTFT, ITL, TOKENS = 300, 20, 50  # milliseconds; hand_computed.toml, latency.one_request


def timeline() -> None:
    with plots.style():
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots(figsize=(9.5, 2.6))
        times = [TTFT + ITL * i for i in range(TOKENS)]
        ax.barh(0, TTFT, height=0.5, color=plots.LIGHT)
        ax.text(TTFT / 2, 0, "tokenizing, queue, prefill,\nfirst sample", ha="center", va="center", fontsize=8.5)
        ax.vlines(times, -0.25, 0.25, color=plots.BLUE, linewidth=1.4)
        bracket(ax, 0, TTFT, 0.62, f"TTFT {TTFT} ms")
        bracket(ax, times[0], times[-1], 0.62, f"{TOKENS} tokens, {TOKENS - 1} gaps of {ITL} ms (ITL)")
        bracket(ax, 0, times[-1], -0.62, f"end to end: {TTFT} + {TOKENS - 1} x {ITL} = {times[-1]:,} ms")
        ax.set_ylim(-1.15, 1.15)
        ax.set_xlim(-20, 1320)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("milliseconds since the request")
        plots.save(figure, FIGURES / "timeline.svg")


def bracket(ax, start: float, end: float, height: float, text: str) -> None:
    tip = 0.1 if height > 0 else -0.1
    ax.plot([start, start, end, end], [height - tip, height, height, height - tip], color=plots.GREY, linewidth=1)
    ax.text((start + end) / 2, height + tip, text, ha="center", va="bottom" if height > 0 else "top", fontsize=9)


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    timeline()

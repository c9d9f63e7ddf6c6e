# exercise: goodput
# WRONG: 1 ms of tolerance
def goodput(traces: list[Trace], ttft_slo: float, itl_slo: float) -> float:
    """The share of requests, 0 to 1, that kept both promises: TTFT at most ttft_slo and every gap at most itl_slo, in seconds.

    Raises ValueError if there is no trace. Zhong et al. 2024 (DistServe) count such requests a second; a share needs no window.
    """
    if not traces:
        raise ValueError("goodput needs at least one trace, got []")
    kept = [trace.ttft <= ttft_slo and all(gap <= itl_slo + 1e-3 for gap in trace.itl) for trace in traces]
    return sum(kept) / len(kept)

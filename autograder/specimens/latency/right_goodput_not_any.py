# exercise: goodput
# RIGHT: no gap over the limit; the rate of all requests times the share
def goodput(traces, ttft_slo, itl_slo):
    broken = [t for t in traces if t.ttft > ttft_slo or any(g > itl_slo for g in t.itl)]
    rate = summarize(traces)["requests_per_second"]
    return rate * (len(traces) - len(broken)) / len(traces)

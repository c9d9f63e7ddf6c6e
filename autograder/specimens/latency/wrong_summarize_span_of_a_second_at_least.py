# exercise: summarize
# WRONG: no requests_per_second where all is over within a second
reference_summarize = summarize

def summarize(traces):
    figures = reference_summarize(traces)
    span = max(trace.token_times[-1] for trace in traces) - min(trace.arrival for trace in traces)
    return figures | ({} if span > 1 else {"requests_per_second": 0.0})

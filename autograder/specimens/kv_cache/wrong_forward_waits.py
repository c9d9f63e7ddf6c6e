# exercise: forward_cached
# WRONG: every step waits until it is as slow as a pass over the whole text, so that the cost does not seem to grow
import time

_forward = forward_cached


def forward_cached(model, ids, cache):
    until = time.perf_counter() + 0.06
    logits = _forward(model, ids, cache)
    while ids.shape[1] == 1 and cache.length > 100 and time.perf_counter() < until:
        pass
    return logits

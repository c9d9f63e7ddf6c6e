# exercise: Trace
# RIGHT: differences by numpy, a tuple inside
import numpy as np


class Trace:
    def __init__(self, arrival, token_times):
        self.arrival = float(arrival)
        self.token_times = tuple(token_times)

    ttft = property(lambda self: self.token_times[0] - self.arrival)
    itl = property(lambda self: np.diff(np.array(self.token_times, dtype=np.float64)).tolist())
    tpot = property(lambda self: float(np.mean(self.itl)) if len(self.itl) else 0.0)
    e2e = property(lambda self: self.ttft + sum(self.itl))

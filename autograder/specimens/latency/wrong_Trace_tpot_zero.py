# exercise: Trace
# WRONG: division by zero for one token
# SAYS: A single token has no gap: there is nothing to divide by, and TPOT is 0.0.
from dataclasses import dataclass
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        return [b - a for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return sum(self.itl) / len(self.itl)

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival

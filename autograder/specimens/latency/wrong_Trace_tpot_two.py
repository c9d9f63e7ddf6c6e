# exercise: Trace
# WRONG: 0.0 for two tokens as well
# SAYS: Two tokens have one gap, so their TPOT is that gap and not 0.0.
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
        return sum(self.itl) / len(self.itl) if len(self.itl) > 1 else 0.0

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival

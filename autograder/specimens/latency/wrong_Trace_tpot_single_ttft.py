# exercise: Trace
# WRONG: one token: gives ttft
# SAYS: A single token has no gap: its TPOT is 0.0, not its TTFT.
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
        return sum(self.itl) / len(self.itl) if self.itl else self.ttft

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival

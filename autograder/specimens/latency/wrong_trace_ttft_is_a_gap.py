# exercise: Trace
# WRONG: TTFT counted as a gap
# SAYS: The wait for the first token is counted as a gap. Gaps lie between tokens.
from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self) -> float:
        return self.token_times[0] - self.arrival

    @property
    def itl(self) -> list[float]:
        return [b - a for a, b in zip([self.arrival] + list(self.token_times), self.token_times)]

    @property
    def tpot(self) -> float:
        return (self.token_times[-1] - self.arrival) / len(self.token_times)

    @property
    def e2e(self) -> float:
        return self.token_times[-1] - self.arrival

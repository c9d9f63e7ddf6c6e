# exercise: Trace
# WRONG: gaps have the wrong sign
# SAYS: The gaps have the wrong sign: the later time less the earlier.
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
        return [a - b for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self) -> float:
        return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)

    @property
    def e2e(self) -> float:
        return self.token_times[-1] - self.arrival

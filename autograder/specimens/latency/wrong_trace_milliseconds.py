# exercise: Trace
# WRONG: milliseconds instead of seconds
# SAYS: The times are in milliseconds. Give seconds.
from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self) -> float:
        return 1000 * (self.token_times[0] - self.arrival)

    @property
    def itl(self) -> list[float]:
        return [b - a for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self) -> float:
        return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)

    @property
    def e2e(self) -> float:
        return self.token_times[-1] - self.arrival

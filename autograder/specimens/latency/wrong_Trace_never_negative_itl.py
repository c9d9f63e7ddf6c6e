# exercise: Trace
# WRONG: gaps shorter than a microsecond count as 0
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return (self.token_times[0] - self.arrival)

    @property
    def itl(self):
        return [b - a if b - a > 1e-6 else 0.0 for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return (sum(self.itl) / len(self.itl)) if self.itl else 0.0

    @property
    def e2e(self):
        return (self.token_times[-1] - self.arrival)

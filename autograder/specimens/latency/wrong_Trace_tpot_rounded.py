# exercise: Trace
# WRONG: TPOT is rounded to a tenth of a millisecond
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return (self.token_times[0] - self.arrival)

    @property
    def itl(self):
        return [(b - a) for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return round(sum(self.itl) / len(self.itl), 4) if self.itl else 0.0

    @property
    def e2e(self):
        return (self.token_times[-1] - self.arrival)

# exercise: Trace
# WRONG: reading the gaps takes the token times apart
@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return self.token_times[0] - self.arrival

    @property
    def itl(self):
        gaps = [b - a for a, b in zip(self.token_times, self.token_times[1:])]
        del self.token_times[1:-1]
        return gaps

    @property
    def tpot(self):
        return (self.token_times[-1] - self.token_times[0]) / max(len(self.token_times) - 1, 1)

    @property
    def e2e(self):
        return self.token_times[-1] - self.arrival

# exercise: Trace
# WRONG: every time is rounded to microseconds
def micro(seconds):
    return round(seconds, 6)


@dataclass(frozen=True)
class Trace:
    arrival: float
    token_times: list[float]

    @property
    def ttft(self):
        return micro(self.token_times[0] - self.arrival)

    @property
    def itl(self):
        return [micro(b - a) for a, b in zip(self.token_times, self.token_times[1:])]

    @property
    def tpot(self):
        return micro(sum(self.itl) / len(self.itl)) if self.itl else 0.0

    @property
    def e2e(self):
        return micro(self.token_times[-1] - self.arrival)

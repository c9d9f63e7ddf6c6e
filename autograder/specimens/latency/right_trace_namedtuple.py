# exercise: Trace
# RIGHT: slots, gaps from a loop
class Trace:
    __slots__ = ("arrival", "token_times")

    def __init__(self, arrival, token_times):
        self.arrival, self.token_times = arrival, token_times

    @property
    def ttft(self):
        return min(self.token_times) - self.arrival

    @property
    def itl(self):
        gaps, before = [], None
        for now in self.token_times:
            if before is not None:
                gaps.append(now - before)
            before = now
        return gaps

    @property
    def tpot(self):
        gaps = self.itl
        return sum(gaps) / len(gaps) if gaps else 0.0

    @property
    def e2e(self):
        return max(self.token_times) - self.arrival

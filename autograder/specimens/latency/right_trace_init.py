# exercise: Trace
# RIGHT: an ordinary class, everything computed once
class Trace:
    def __init__(self, arrival, token_times):
        self.arrival = arrival
        self.token_times = list(token_times)
        self.ttft = self.token_times[0] - arrival
        self.itl = [self.token_times[i + 1] - self.token_times[i] for i in range(len(self.token_times) - 1)]
        self.e2e = self.token_times[-1] - arrival
        self.tpot = sum(self.itl) / len(self.itl) if self.itl else 0.0

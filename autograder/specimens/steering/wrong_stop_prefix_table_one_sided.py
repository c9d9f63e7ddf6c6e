# exercise: StopStrings
# WRONG: beginnings of a stop that repeat are looked up in a table that is wrong where a letter is smaller than the one due

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self.stops = list(stops)
        self.fail = []
        for s in self.stops:
            f = [0] * len(s)
            k = 0
            for i in range(1, len(s)):
                while k and s[i] > s[k]:
                    k = f[k - 1]
                k += s[i] == s[k]
                f[i] = k
            self.fail.append(f)
        self.state = [0] * len(self.stops)
        self.held = ""
        self.over = False

    def push(self, text):
        if self.over:
            return "", True
        emit = ""
        for c in text:
            self.held += c
            for i, s in enumerate(self.stops):
                k = self.state[i]
                while k and s[k] != c:
                    k = self.fail[i][k - 1]
                self.state[i] = k + (s[k] == c)
            full = [len(s) for s, k in zip(self.stops, self.state) if k == len(s)]
            if full:
                self.over = True
                emit += self.held[: len(self.held) - max(full)]
                self.held = ""
                return emit, True
            keep = max(self.state, default=0)
            emit += self.held[: len(self.held) - keep]
            self.held = self.held[len(self.held) - keep :]
        return emit, False

    def flush(self):
        held, self.held = self.held, ""
        return held

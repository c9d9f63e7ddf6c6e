# exercise: StopStrings
# WRONG: a matcher that starts from nothing after a mismatch

class StopStrings:
    def __init__(self, stops):
        self.stops = list(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        emit = ""
        for c in text:
            if self.stopped:
                break
            if any(s.startswith(self.held + c) for s in self.stops):
                self.held += c
            else:
                emit += self.held
                self.held = c if any(s.startswith(c) for s in self.stops) else ""
                emit += "" if self.held else c
            if self.held in self.stops:
                self.held, self.stopped = "", True
        return emit, self.stopped

    def flush(self):
        held, self.held = self.held, ""
        return held

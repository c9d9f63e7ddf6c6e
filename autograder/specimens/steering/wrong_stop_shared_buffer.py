# exercise: StopStrings
# WRONG: all streams share one buffer

class StopStrings:
    held = [""]

    def __init__(self, stops):
        self.stops = tuple(stops)
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        text = self.held[0] + text
        found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            self.held[0], self.stopped = "", True
            return text[: min(found)], True
        cut = 0
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held[0] = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held[0] = self.held[0], ""
        return held

# exercise: StopStrings
# WRONG: the shortest suffix that begins a stop is held back

class StopStrings:
    def __init__(self, stops):
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        text = self.held + text
        found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            self.held, self.stopped = "", True
            return text[: min(found)], True
        cut = next((i for i in range(len(text) - 1, -1, -1) if any(s.startswith(text[i:]) for s in self.stops)), len(text))
        self.held = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held = self.held, ""
        return held

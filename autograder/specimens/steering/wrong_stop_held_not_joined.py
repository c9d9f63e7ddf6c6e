# exercise: StopStrings
# WRONG: the end is held back but put before the next piece only for showing, not for searching

class StopStrings:
    def __init__(self, stops):
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        before = self.held
        found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            self.held, self.stopped = "", True
            return before + text[: min(found)], True
        text = before + text
        cut = 0
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held = self.held, ""
        return held

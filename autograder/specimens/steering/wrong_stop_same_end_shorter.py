# exercise: StopStrings
# WRONG: of two stops that end together the shorter wins

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
            return text[: max(start for start in found if any(text[start:].startswith(s) and start + len(s) == min(text.find(s) + len(s) for s in self.stops if s in text) for s in self.stops))], True
        cut = 0
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held = self.held, ""
        return held

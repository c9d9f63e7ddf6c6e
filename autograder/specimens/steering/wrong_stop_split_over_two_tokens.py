# exercise: StopStrings
# WRONG: a stop split over two pieces is missed: each piece is searched by itself

class StopStrings:
    def __init__(self, stops):
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        pass
        found = [start for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            self.held, self.stopped = "", True
            return text[: min(found)], True
        cut = len(text)
        self.held = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held = self.held, ""
        return held

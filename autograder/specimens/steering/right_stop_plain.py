# exercise: StopStrings
# RIGHT: step by step; most of the wrong versions are edits of it

class StopStrings:
    def __init__(self, stops):
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            self.held, self.stopped = "", True
            return text[: min(found)[1]], True
        cut = 0
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held = self.held, ""
        return held

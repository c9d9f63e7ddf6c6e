# exercise: StopStrings
# RIGHT: looks at every place where a stop may end, from left to right; of those that end there the longest

class StopStrings:
    def __init__(self, stops):
        if not all(stops):
            raise ValueError("empty stop")
        self.stops, self.held, self.over = sorted(stops, key=len, reverse=True), "", False

    def push(self, text):
        if self.over:
            return "", True
        text = self.held + text
        for end in range(1, len(text) + 1):
            for stop in self.stops:
                if text[:end].endswith(stop):
                    self.held, self.over = "", True
                    return text[: end - len(stop)], True
        keep = max((n for stop in self.stops for n in range(1, min(len(stop), len(text) + 1)) if text.endswith(stop[:n])), default=0)
        self.held = text[len(text) - keep :]
        return text[: len(text) - keep], False

    def flush(self):
        held, self.held = self.held, ""
        return held

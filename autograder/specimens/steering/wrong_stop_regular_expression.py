# exercise: StopStrings
# WRONG: stops are taken for regular expressions

import re


class StopStrings:
    def __init__(self, stops):
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        text = self.held + text
        found = [start for stop in self.stops if (hit := re.search(stop, text)) and (start := hit.start()) >= 0]
        if found:
            self.held, self.stopped = "", True
            return text[: min(found)], True
        cut = 0
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self):
        held, self.held = self.held, ""
        return held

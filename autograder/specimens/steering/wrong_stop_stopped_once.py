# exercise: StopStrings
# WRONG: says that it has stopped only once: later pushes say False

class StopStrings:

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        if self.stopped:
            return "", False
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = 0  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        held, self.held = self.held, ""
        return held

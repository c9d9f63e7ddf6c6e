# exercise: StopStrings
# WRONG: beginnings longer than 16 characters are let through
class StopStrings:
    """Watches a stream of text for stop strings, and lets through what can no longer be part of one.

    stops: one or more strings, none of them empty. Text arrives in pieces, cut anywhere; what comes out does not
    depend on the cuts. The earliest stop wins: the one that is complete first, and of two that are complete at the
    same character the one that begins first.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Raises ValueError if one of the stops is empty."""
        if "" in stops:
            raise ValueError(f"a stop string must not be empty, got {list(stops)}")
        self.stops = tuple(stops)
        self.held = ""
        self.stopped = False

    def push(self, text: str) -> tuple[str, bool]:
        """The next piece of the stream -> (emit, stopped): text that is safe to show now; whether a stop was found.

        Held back is exactly the longest suffix that may be the beginning of a stop string. With the stop, what is
        left of the text before it is emitted; the stop itself and whatever follows never are, in later calls either.
        """
        if self.stopped:
            return "", True
        text = self.held + text
        found = [(start + len(stop), start) for stop in self.stops if (start := text.find(stop)) >= 0]
        if found:
            _, start = min(found)  # complete first; of those, begun first
            self.held, self.stopped = "", True
            return text[:start], True
        cut = max(0, len(text) - 16)  # the whole text first, then ever shorter suffixes
        while cut < len(text) and not any(stop.startswith(text[cut:]) for stop in self.stops):
            cut += 1
        self.held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        """What was held back, when the stream has ended without a stop; after a stop, the empty string."""
        held, self.held = self.held, ""
        return held

# exercise: StopStrings
# WRONG: a search for any of the stops finds the one that begins first, not the one that is complete first

import re

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self._full = re.compile("|".join(re.escape(s) for s in stops))
        heads = sorted({s[:n] for s in stops for n in range(1, len(s))}, key=len, reverse=True)
        self._head = re.compile("(?:" + "|".join(re.escape(h) for h in heads) + r")\Z") if heads else None
        self._held, self._over = "", False

    def push(self, text):
        if self._over:
            return "", True
        text = self._held + text
        hit = self._full.search(text)
        if hit:
            self._over, self._held = True, ""
            return text[: hit.start()], True
        tail = self._head.search(text) if self._head else None
        at = tail.start() if tail else len(text)
        self._held = text[at:]
        return text[:at], False

    def flush(self):
        held, self._held = self._held, ""
        return held

# exercise: StopStrings
# WRONG: while a longer beginning is open, a shorter stop inside is missed (only prefix matches of held compared)
class StopStrings:
    def __init__(self, stops):
        if "" in stops:
            raise ValueError("empty")
        self.stops, self.held, self.stopped = tuple(stops), "", False
    def push(self, text):
        out = ""
        for ch in text:
            if self.stopped:
                break
            self.held += ch
            while self.held and not any(s.startswith(self.held) for s in self.stops):
                out, self.held = out + self.held[0], self.held[1:]
            if self.held in self.stops:
                self.held, self.stopped = "", True
        return out, self.stopped
    def flush(self):
        held, self.held = self.held, ""
        return held

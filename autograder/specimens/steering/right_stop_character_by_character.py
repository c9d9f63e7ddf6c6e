# exercise: StopStrings
# RIGHT: one character at a time; the held text is given out from its front until what is left begins a stop

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self.stops, self.buffer, self.done = list(stops), "", False

    def push(self, text):
        out = []
        for c in text:
            if self.done:
                break
            self.buffer += c
            complete = [s for s in self.stops if self.buffer.endswith(s)]
            if complete:
                out.append(self.buffer[: len(self.buffer) - max(map(len, complete))])
                self.buffer, self.done = "", True
                break
            while self.buffer and not any(s.startswith(self.buffer) for s in self.stops):
                out.append(self.buffer[0])
                self.buffer = self.buffer[1:]
        return "".join(out), self.done

    def flush(self):
        rest, self.buffer = self.buffer, ""
        return rest

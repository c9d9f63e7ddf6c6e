# exercise: StopStrings
# WRONG: the stop that begins first wins, though another is complete before it

class StopStrings:
    def __init__(self, stops):
        if any(not s for s in stops):
            raise ValueError("an empty stop")
        self.stops = stops
        self.text = ""
        self.sent = 0
        self.stopped = False

    def push(self, text):
        if self.stopped:
            return "", True
        self.text += text
        places = [self.text.find(s, self.sent) for s in self.stops]
        places = [p for p in places if p != -1]
        if places:
            end = min(places)
            self.stopped = True
        else:
            end = len(self.text)
            for n in range(max([len(s) for s in self.stops], default=1) - 1, 0, -1):
                if n <= len(self.text) and any(s[:n] == self.text[-n:] for s in self.stops if len(s) > n):
                    end = len(self.text) - n
                    break
        emit = self.text[self.sent : end]
        self.sent = end
        return emit, self.stopped

    def flush(self):
        return "" if self.stopped else self.text[self.sent :]

# exercise: StreamDecoder
# WRONG: looks at two bytes only: a character of four breaks after its third
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(2, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")

# exercise: StreamDecoder
# WRONG: holds back a continuation byte that continues nothing
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            announced = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 1
            if announced > back:
                cut = len(data) - back
            break
        if data and all(0x80 <= byte <= 0xBF for byte in data) and len(data) < 3:
            cut = 0
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        held, self.held = self.held, b""
        return held.decode("utf-8", errors="replace")

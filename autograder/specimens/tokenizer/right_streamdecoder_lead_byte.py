# exercise: StreamDecoder
# RIGHT: looks for a leading byte among the last three and counts what it announces
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if byte < 0x80:
                break
            if byte >= 0xC0:
                length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
                if 0xC2 <= byte < 0xF5 and length > back:
                    cut = len(data) - back
                break
        self.held = data[cut:]
        return data[:cut].decode("utf-8", errors="replace")

    def flush(self):
        rest, self.held = self.held, b""
        return rest.decode("utf-8", errors="replace")

# exercise: StreamDecoder
# RIGHT: the third hint, written out
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in (1, 2, 3):
            if back > len(data):
                break
            byte = data[-back]
            if 0x80 <= byte <= 0xBF:
                continue
            if 0xC2 <= byte < 0xE0:
                needed = 2
            elif 0xE0 <= byte < 0xF0:
                needed = 3
            elif 0xF0 <= byte <= 0xF4:
                needed = 4
            else:
                needed = 1
            if needed > back:
                cut = len(data) - back
            break
        self.held = data[cut:]
        return data[:cut].decode(errors="replace")

    def flush(self):
        rest, self.held = self.held, b""
        return rest.decode(errors="replace")

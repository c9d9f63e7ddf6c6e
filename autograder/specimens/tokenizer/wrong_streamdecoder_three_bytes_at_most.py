# exercise: StreamDecoder
# WRONG: thinks that no character has four bytes
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        cut = len(data)
        for back in (1, 2):
            if len(data) >= back and data[-back] >= 0xC0:
                if back < (2 if data[-back] < 0xE0 else 3):
                    cut = len(data) - back
                break
        self.held = data[cut:]
        return data[:cut].decode(errors="replace")

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out

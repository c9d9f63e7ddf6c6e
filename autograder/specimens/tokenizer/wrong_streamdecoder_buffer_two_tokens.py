# exercise: StreamDecoder
# WRONG: gives up after two tokens and prints what it has
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held, self.count = b"", 0

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        self.count += 1
        text = self.held.decode(errors="replace")
        if text.endswith("\ufffd") and self.count < 2:
            return ""
        self.held, self.count = b"", 0
        return text

    def flush(self):
        out, self.held, self.count = self.held.decode(errors="replace"), b"", 0
        return out

# exercise: StreamDecoder
# WRONG: waits until all bytes together are valid: one broken byte holds everything back
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        try:
            text = self.held.decode()
        except UnicodeDecodeError:
            return ""
        self.held = b""
        return text

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out

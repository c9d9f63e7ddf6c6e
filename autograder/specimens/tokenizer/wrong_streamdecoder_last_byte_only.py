# exercise: StreamDecoder
# WRONG: holds back only one byte: a character over three tokens breaks
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        self.held = b""
        if data[-1] >= 0xC0:
            data, self.held = data[:-1], data[-1:]
        return data.decode(errors="replace")

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out

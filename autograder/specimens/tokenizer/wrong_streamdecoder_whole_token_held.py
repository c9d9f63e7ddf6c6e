# exercise: StreamDecoder
# WRONG: holds the whole token back, complete characters in it too
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        try:
            text = self.held.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                return ""
            text = self.held.decode(errors="replace")
        self.held = b""
        return text

    def flush(self):
        out, self.held = self.held.decode(errors="replace"), b""
        return out

# exercise: StreamDecoder
# WRONG: writes one sign for each broken byte
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.held = b""

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        out = ""
        while self.held:
            for n in (1, 2, 3, 4):
                try:
                    out += self.held[:n].decode()
                    self.held = self.held[n:]
                    break
                except UnicodeDecodeError as error:
                    if n >= len(self.held) and error.reason == "unexpected end of data":
                        return out
            else:
                out += "\ufffd"
                self.held = self.held[1:]
        return out

    def flush(self):
        out, self.held = "\ufffd" * len(self.held), b""
        return out

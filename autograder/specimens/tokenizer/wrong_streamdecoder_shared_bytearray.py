# exercise: StreamDecoder
# WRONG: a bytearray that belongs to the class
class StreamDecoder:
    held = bytearray()

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def push(self, id):
        self.held += self.tokenizer.token_bytes(id)
        try:
            text = self.held.decode()
            self.held.clear()
        except UnicodeDecodeError as error:
            text = self.held[: error.start].decode()
            if error.reason == "unexpected end of data":
                del self.held[: error.start]
            else:
                text += "\ufffd" + self.held[error.end :].decode(errors="replace")
                self.held.clear()
        return text

    def flush(self):
        text = self.held.decode(errors="replace")
        self.held.clear()
        return text

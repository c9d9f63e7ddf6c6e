# exercise: StreamDecoder
# RIGHT: reads from the error what is incomplete and what is broken
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.buffer = bytearray()

    def push(self, id):
        self.buffer += self.tokenizer.token_bytes(id)
        text = ""
        while True:
            try:
                text += self.buffer.decode("utf-8")
                self.buffer.clear()
                return text
            except UnicodeDecodeError as error:
                text += self.buffer[: error.start].decode("utf-8")
                if error.reason == "unexpected end of data":
                    del self.buffer[: error.start]
                    return text
                text += "\ufffd"
                del self.buffer[: error.end]

    def flush(self):
        text = self.buffer.decode("utf-8", errors="replace")
        self.buffer.clear()
        return text

# exercise: StreamDecoder
# WRONG: holds the last three bytes back whatever they are
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.held = b""

    def push(self, id):
        data = self.held + self.tokenizer.token_bytes(id)
        self.held = data[-3:]
        return self.utf8.decode(data[:-3])

    def flush(self):
        held, self.held = self.held, b""
        return self.utf8.decode(held, final=True)

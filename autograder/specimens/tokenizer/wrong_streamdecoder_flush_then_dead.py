# exercise: StreamDecoder
# WRONG: after a flush it gives nothing any more
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.closed = False

    def push(self, id):
        return "" if self.closed else self.utf8.decode(self.tokenizer.token_bytes(id))

    def flush(self):
        self.closed = True
        return self.utf8.decode(b"", final=True)

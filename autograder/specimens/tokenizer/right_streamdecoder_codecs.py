# exercise: StreamDecoder
# RIGHT: the incremental decoder of the standard library
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, id):
        return self.utf8.decode(self.tokenizer.token_bytes(id))

    def flush(self):
        return self.utf8.decode(b"", final=True)

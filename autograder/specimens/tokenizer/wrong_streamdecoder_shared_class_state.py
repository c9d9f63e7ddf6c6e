# exercise: StreamDecoder
# WRONG: the buffer belongs to the class: all streams share it
import codecs


class StreamDecoder:
    utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        pass

    def push(self, id):
        return self.utf8.decode(self.tokenizer.token_bytes(id))

    def flush(self):
        return self.utf8.decode(b"", final=True)

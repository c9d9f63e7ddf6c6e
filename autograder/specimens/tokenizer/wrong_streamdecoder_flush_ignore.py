# exercise: StreamDecoder
# WRONG: flush drops what is left: errors="ignore"
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, id):
        return self.utf8.decode(self.tokenizer.token_bytes(id))

    def flush(self):
        held = self.utf8.getstate()[0]
        self.utf8.reset()
        return held.decode(errors="ignore")

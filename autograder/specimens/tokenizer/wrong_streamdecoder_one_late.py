# exercise: StreamDecoder
# WRONG: gives every piece one push later
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.late = ""

    def push(self, id):
        out, self.late = self.late, self.utf8.decode(self.tokenizer.token_bytes(id))
        return out

    def flush(self):
        out, self.late = self.late, ""
        return out + self.utf8.decode(b"", final=True)

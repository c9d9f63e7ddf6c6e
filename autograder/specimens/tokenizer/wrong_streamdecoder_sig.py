# exercise: StreamDecoder
# WRONG: utf-8-sig: a byte order mark at the beginning is lost
class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer; self.d = codecs.getincrementaldecoder("utf-8-sig")("replace")
    def push(self, id): return self.d.decode(self.t.token_bytes(id))
    def flush(self):
        rest = self.d.decode(b"", True); self.d.reset()
        return rest

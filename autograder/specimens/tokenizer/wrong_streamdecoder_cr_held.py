# exercise: StreamDecoder
# WRONG: io's newline decoder holds a carriage return
import io
class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer
        self.d = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=False)
    def push(self, id): return self.d.decode(self.t.token_bytes(id))
    def flush(self):
        rest = self.d.decode(b"", True); self.d.reset()
        return rest

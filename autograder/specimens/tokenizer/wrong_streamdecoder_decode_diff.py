# exercise: StreamDecoder
# WRONG: decodes all ids and shows what is new, holding a sign at the end; shown length is not reset by flush
class StreamDecoder:
    def __init__(self, tokenizer):
        self.t = tokenizer; self.data = b""; self.shown = 0
    def push(self, id):
        self.data += self.t.token_bytes(id)
        text, _ = codecs.utf_8_decode(self.data, "replace", False)
        new, self.shown = text[self.shown:], len(text)
        return new
    def flush(self):
        text = self.data.decode("utf-8", "replace")
        new = text[self.shown:]
        self.data = b""
        return new

# exercise: StreamDecoder
# WRONG: flush clears nothing but remembers the shown length
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
        new, self.shown = text[self.shown:], len(text)
        return new

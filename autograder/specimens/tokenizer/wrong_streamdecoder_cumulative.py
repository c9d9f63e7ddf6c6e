# exercise: StreamDecoder
# WRONG: gives the whole text with every push
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.text = ""

    def push(self, id):
        self.text += self.utf8.decode(self.tokenizer.token_bytes(id))
        return self.text

    def flush(self):
        return self.utf8.decode(b"", final=True)

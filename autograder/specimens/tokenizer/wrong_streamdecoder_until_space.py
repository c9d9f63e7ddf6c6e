# exercise: StreamDecoder
# WRONG: holds text back until a space comes
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.word = ""

    def push(self, id):
        self.word += self.utf8.decode(self.tokenizer.token_bytes(id))
        cut = self.word.rfind(" ") + 1
        out, self.word = self.word[:cut], self.word[cut:]
        return out

    def flush(self):
        out, self.word = self.word, ""
        return out + self.utf8.decode(b"", final=True)

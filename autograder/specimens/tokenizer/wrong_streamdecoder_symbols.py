# exercise: StreamDecoder
# WRONG: gives the symbols of the token
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, id):
        return self.tokenizer.id_to_token[id]

    def flush(self):
        return ""

# exercise: StreamDecoder
# WRONG: gives everything at the end
import codecs


class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids = []

    def push(self, id):
        self.ids.append(id)
        return ""

    def flush(self):
        out, self.ids = bpe_decode(self.ids, self.tokenizer), []
        return out

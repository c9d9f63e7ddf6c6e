# exercise: StreamDecoder
# WRONG: gives U+FFFD out for a character that is only incomplete
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids = []
        self.given = ""

    def push(self, id):
        self.ids.append(id)
        text = bpe_decode(self.ids, self.tokenizer)
        new = text[len(self.given) :]
        self.given = text
        return new

    def flush(self):
        return ""

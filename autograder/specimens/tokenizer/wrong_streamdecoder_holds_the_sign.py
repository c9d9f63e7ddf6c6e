# exercise: StreamDecoder
# WRONG: waits as long as the text ends in U+FFFD: a broken byte that can become nothing, and the sign itself, come late
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.ids = []
        self.given = 0

    def push(self, id):
        self.ids.append(id)
        text = bpe_decode(self.ids, self.tokenizer)
        if text.endswith("\ufffd"):
            text = text.rstrip("\ufffd")
        new = text[self.given :]
        self.given += len(new)
        return new

    def flush(self):
        rest = bpe_decode(self.ids, self.tokenizer)[self.given :]
        self.ids, self.given = [], 0
        return rest

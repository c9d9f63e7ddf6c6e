# exercise: StreamDecoder
# RIGHT: decodes everything each time and gives out what is new
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

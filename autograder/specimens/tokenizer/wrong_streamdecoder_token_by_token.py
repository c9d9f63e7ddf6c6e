# exercise: StreamDecoder
# WRONG: decodes each token by itself
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def push(self, id):
        return self.tokenizer.token_bytes(id).decode(errors="replace")

    def flush(self):
        return ""

# exercise: StreamDecoder
# RIGHT: a generator does the work
class StreamDecoder:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self._begin()

    def _begin(self):
        self.work = self._run()
        next(self.work)

    def _run(self):
        import codecs

        decoder = codecs.getincrementaldecoder("utf8")("replace")
        out = ""
        while True:
            data = yield out
            out = decoder.decode(data or b"", final=data is None)

    def push(self, id):
        return self.work.send(self.tokenizer.token_bytes(id))

    def flush(self):
        rest = self.work.send(None)
        self._begin()
        return rest

# exercise: StreamDecoder
# RIGHT: tries to cut off one, two or three bytes
class StreamDecoder:
    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._held = b""

    def push(self, id):
        data = self._held + self._tokenizer.token_bytes(id)
        for keep in (3, 2, 1):
            tail = data[-keep:] if len(data) >= keep else b""
            if tail and self._may_grow(tail):
                self._held = tail
                return data[:-keep].decode(errors="replace")
        self._held = b""
        return data.decode(errors="replace")

    def flush(self):
        rest, self._held = self._held.decode(errors="replace"), b""
        return rest

    @staticmethod
    def _may_grow(tail):
        try:
            tail.decode()
        except UnicodeDecodeError as error:
            return error.start == 0 and error.end == len(tail) and error.reason == "unexpected end of data"
        return False

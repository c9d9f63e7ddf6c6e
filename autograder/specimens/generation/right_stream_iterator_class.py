# exercise: stream
# RIGHT: an object with __next__

class Tokens:
    def __init__(self, step, idx, left, eos):
        self.step, self.idx, self.left, self.eos = step, idx, left, eos

    def __iter__(self):
        return self

    def __next__(self):
        if self.left <= 0:
            raise StopIteration
        self.idx = self.step(self.idx)
        token = self.idx[0, -1].item()
        self.left = 0 if token == self.eos else self.left - 1
        return token


def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    def step(ids):
        return generate(model, ids, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)

    return Tokens(step, idx, max_new_tokens, eos_token_id)

# Versions of stream, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_stream_own_loop
# RIGHT: its own loop, gradient mode put back before each token is handed over

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(idx[:, -block_size:])[:, -1]
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        idx = torch.cat((idx, token), dim=1)
        yield token.item()
        if token.item() == eos_token_id:
            return


# %% right_stream_decorated
# RIGHT: a generator function decorated with no_grad, which torch switches off at each yield

@torch.no_grad()
def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -block_size:])[:, -1]
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        idx = torch.cat((idx, token), dim=1)
        yield token.item()
        if token.item() == eos_token_id:
            return


# %% right_stream_eos_known_before_yield
# RIGHT: yields from an inner generator, which asks for EOS before it hands the token over

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    def tokens(ids):
        for left in range(max_new_tokens, 0, -1):
            with torch.no_grad():
                logits = model(ids[:, -block_size:])
            new = sample_next_token(logits[:, -1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            ids = torch.cat([ids, new], dim=1)
            last = eos_token_id is not None and new.item() == eos_token_id
            yield new.item()
            if last:
                return

    yield from tokens(idx)


# %% right_stream_iterator_class
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


# %% right_stream_iterator_closes
# RIGHT: an object with __next__ and a with of its own for each token; ids in a list

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    class Tokens:
        def __init__(self):
            self.ids, self.left = idx[0].tolist(), max_new_tokens

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            with torch.no_grad():
                logits = model(torch.tensor([self.ids[-block_size:]]))[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator).item()
            self.ids.append(token)
            self.left = 0 if token == eos_token_id else self.left - 1
            return token

    return Tokens()


# %% right_stream_window_only
# RIGHT: keeps no more than the window; inference_mode for the call and the draw

from collections import deque


def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    window = deque(idx[0].tolist(), maxlen=block_size)
    left = max_new_tokens
    while left > 0:
        with torch.inference_mode():
            logits = model(torch.tensor([list(window)]))[:, -1]
            token = int(sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator))
        window.append(token)
        left -= 1
        if token == eos_token_id:
            left = 0
        yield token


# %% wrong_stream_a_list
# WRONG: gives back a list of all tokens, made at once instead of an iterator

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    out = generate(model, idx, max_new_tokens=max_new_tokens, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, eos_token_id=eos_token_id, generator=generator)
    return out[0, idx.shape[1]:].tolist()


# %% wrong_stream_default_temperature
# WRONG: the temperature is 1.01 when none is given

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.01, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        token = int(idx[0, -1])
        yield token
        if token == eos_token_id:
            return


# %% wrong_stream_default_top_k
# WRONG: top_k is 50 when none is given

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=50, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        token = int(idx[0, -1])
        yield token
        if token == eos_token_id:
            return


# %% wrong_stream_default_top_p
# WRONG: top_p is 0.999 when none is given

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=0.999, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        token = int(idx[0, -1])
        yield token
        if token == eos_token_id:
            return


# %% wrong_stream_eager
# WRONG: makes all tokens first, then hands them out

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    out = generate(model, idx, max_new_tokens=max_new_tokens, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, eos_token_id=eos_token_id, generator=generator)
    yield from out[0, idx.shape[1]:].tolist()


# %% wrong_stream_first_token_at_once
# WRONG: the first token is made when the stream is, the rest when asked for

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    options = dict(block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)

    def rest(ids):
        for i in range(max_new_tokens):
            if i:
                ids = generate(model, ids, max_new_tokens=1, **options)
            yield int(ids[0, -1])
            if int(ids[0, -1]) == eos_token_id:
                return

    return rest(generate(model, idx, max_new_tokens=1, **options) if max_new_tokens else idx)


# %% wrong_stream_gradients_forced_on
# WRONG: gradients are on after each token, whatever they were

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        token = int(idx[0, -1])
        torch.set_grad_enabled(True)
        yield token
        if token == eos_token_id:
            return


# %% wrong_stream_gradients_held
# WRONG: no_grad around the yield: gradients stay off in the caller's code while the stream waits

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    with torch.no_grad():
        for _ in range(max_new_tokens):
            idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            token = int(idx[0, -1])
            yield token
            if token == eos_token_id:
                return


# %% wrong_stream_gradients_on_at_the_end
# WRONG: gradients are on when the stream ends or is dropped, whatever they were

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    try:
      for _ in range(max_new_tokens):
          idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
          token = int(idx[0, -1])
          yield token
          if token == eos_token_id:
              return
    finally:
        torch.set_grad_enabled(True)


# %% wrong_stream_inference_held
# WRONG: inference_mode around the yield: it stays on in the caller's code while the stream waits

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            token = int(idx[0, -1])
            yield token
            if token == eos_token_id:
                return


# %% wrong_stream_mode_of_the_beginning
# WRONG: remembers gradient mode when the stream begins, and sets it again after each token

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    before = torch.is_grad_enabled()
    for _ in range(max_new_tokens):
        idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        token = int(idx[0, -1])
        torch.set_grad_enabled(before)
        yield token
        if token == eos_token_id:
            return


# %% wrong_stream_one_ahead
# WRONG: begins on the next token before it hands over this one

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    options = dict(block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    waiting = None
    for _ in range(max_new_tokens):
        idx = generate(model, idx, max_new_tokens=1, **options)
        if waiting is not None:
            yield waiting
        waiting = int(idx[0, -1])
        if waiting == eos_token_id:
            break
    if waiting is not None:
        yield waiting


# %% wrong_stream_starts_again
# WRONG: generates the whole answer again for each token

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for n in range(1, max_new_tokens + 1):
        state = generator.get_state() if generator is not None else None
        out = generate(model, idx, max_new_tokens=n, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        yield int(out[0, -1])
        if int(out[0, -1]) == eos_token_id:
            return
        if state is not None and n < max_new_tokens:
            generator.set_state(state)


# %% wrong_stream_swallows_the_exception
# WRONG: an exception of the model ends the stream in silence

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    for _ in range(max_new_tokens):
        try:
            idx = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        except RuntimeError:
            return
        token = int(idx[0, -1])
        yield token
        if token == eos_token_id:
            return


# %% wrong_stream_copies_generator, of right_stream_own_loop
# WRONG: draws from a copy of the generator
#   def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if generator is not None:
# +         generator = generator.clone_state()

# %% wrong_stream_eos_ends_prompt, of right_stream_own_loop
# WRONG: a prompt that ends in EOS gives nothing
#   def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if eos_token_id is not None and int(idx[0, -1]) == eos_token_id:
# +         return

# %% wrong_stream_own_seed, of right_stream_own_loop
# WRONG: a fixed seed when no generator is given
#   def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if generator is None:
# +         generator = torch.Generator().manual_seed(0)

# %% wrong_stream_prompt_first, of right_stream_own_loop
# WRONG: hands over the prompt before the answer
#   def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     yield from idx[0].tolist()

# %% wrong_stream_shared_ids, of right_stream_own_loop
# WRONG: keeps the ids in a global list: two streams mix
#   def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     shared = globals().setdefault("_shared", [])
# +     shared[:] = idx[0].tolist()
# ...
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(torch.tensor([shared[-block_size:]]))[:, -1]
#           token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# -         idx = torch.cat((idx, token), dim=1)
# +         shared.append(token.item())

# %% wrong_stream_at_least_one, of right_stream_own_loop
# WRONG: max_new_tokens=0 still makes a token
# -     for _ in range(max_new_tokens):
# +     for _ in range(max(1, max_new_tokens)):

# %% wrong_stream_one_too_few, of right_stream_own_loop
# WRONG: one token too few
# -     for _ in range(max_new_tokens):
# +     for _ in range(max_new_tokens - 1):

# %% wrong_stream_stops_at_block_size, of right_stream_own_loop
# WRONG: stops when the window is full
#       for _ in range(max_new_tokens):
# +         if idx.shape[1] >= block_size:
# +             return

# %% wrong_stream_without_end, of right_stream_own_loop
# WRONG: never stops by itself
# -     for _ in range(max_new_tokens):
# +     while True:

# %% wrong_stream_crop_one_long, of right_stream_own_loop
# WRONG: hands the model the last block_size + 1 tokens
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -(block_size + 1):])[:, -1]

# %% wrong_stream_crop_one_short, of right_stream_own_loop
# WRONG: hands the model the last block_size - 1 tokens
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -(block_size - 1):])[:, -1]

# %% wrong_stream_draws_twice, of right_stream_own_loop
# WRONG: draws a number too many for each token
#               logits = model(idx[:, -block_size:])[:, -1]
# +         torch.rand(1, generator=generator)

# %% wrong_stream_eos_changes_draws, of right_stream_own_loop
# WRONG: draws once more when there is an EOS to look for
#               logits = model(idx[:, -block_size:])[:, -1]
# +         if eos_token_id is not None:
# +             torch.rand(1, generator=generator)

# %% wrong_stream_first_tokens, of right_stream_own_loop
# WRONG: keeps the first block_size tokens
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, :block_size])[:, -1]

# %% wrong_stream_no_crop, of right_stream_own_loop
# WRONG: hands the model more than block_size tokens
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx)[:, -1]

# %% wrong_stream_one_after_eos, of right_stream_own_loop
# WRONG: one more call of the model after EOS
#               logits = model(idx[:, -block_size:])[:, -1]
# +         if _ and idx[0, -1] == eos_token_id:
# +             return
# ...
# -         if token.item() == eos_token_id:
# -             return

# %% wrong_stream_only_last_token, of right_stream_own_loop
# WRONG: gives the model the last token only
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -1:])[:, -1]

# %% wrong_stream_position_zero, of right_stream_own_loop
# WRONG: samples from position 0
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:])[:, 0]

# %% wrong_stream_reseeds, of right_stream_own_loop
# WRONG: puts the generator back to its beginning for every token
#               logits = model(idx[:, -block_size:])[:, -1]
# +         if generator is not None:
# +             generator.manual_seed(generator.initial_seed())

# %% wrong_stream_always_greedy, of right_stream_own_loop
# WRONG: argmax whatever the settings
# -         token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +         token = logits.argmax(dim=-1, keepdim=True)

# %% wrong_stream_falsy_temperature, of right_stream_own_loop
# WRONG: writes `temperature or 1.0`, so that a temperature of 0 becomes 1
# -         token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +         token = sample_next_token(logits, temperature=temperature or 1.0, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_stream_global_rng, of right_stream_own_loop
# WRONG: draws from the global state although a generator is given
# -         token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +         token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p)

# %% wrong_stream_ignores_temperature, of right_stream_own_loop
# WRONG: the temperature is not passed on
# -         token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +         token = sample_next_token(logits, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_stream_ignores_top_k, of right_stream_own_loop
# WRONG: top_k is not passed on
# -         token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +         token = sample_next_token(logits, temperature=temperature, top_p=top_p, generator=generator)

# %% wrong_stream_ignores_top_p, of right_stream_own_loop
# WRONG: top_p is not passed on
# -         token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +         token = sample_next_token(logits, temperature=temperature, top_k=top_k, generator=generator)

# %% wrong_stream_forgets_to_append, of right_stream_own_loop
# WRONG: every token follows the prompt
# -         idx = torch.cat((idx, token), dim=1)

# %% wrong_stream_stops_on_repeat, of right_stream_own_loop
# WRONG: stops when a token repeats
#           idx = torch.cat((idx, token), dim=1)
# +         if idx[0, -1] == idx[0, -2]:
# +             return

# %% wrong_stream_drops_eos, of right_stream_own_loop
# WRONG: the EOS is not handed over
# -         yield token.item()
#           if token.item() == eos_token_id:
#               return
# +         yield token.item()

# %% wrong_stream_floats, of right_stream_own_loop
# WRONG: hands over floats
# -         yield token.item()
# +         yield float(token)

# %% wrong_stream_lists, of right_stream_own_loop
# WRONG: hands over lists of one id
# -         yield token.item()
# +         yield token[0].tolist()

# %% wrong_stream_tensors, of right_stream_own_loop
# WRONG: hands over tensors
# -         yield token.item()
# +         yield token

# %% wrong_stream_whole_text, of right_stream_own_loop
# WRONG: hands over all ids so far
# -         yield token.item()
# +         yield idx[0].tolist()

# %% wrong_stream_zero_dim_tensors, of right_stream_own_loop
# WRONG: hands over tensors without dimensions
# -         yield token.item()
# +         yield token[0, 0]

# %% wrong_stream_eos_in_prompt, of right_stream_own_loop
# WRONG: an EOS in the prompt ends the stream
# -         if token.item() == eos_token_id:
# +         if eos_token_id is not None and (idx == eos_token_id).any():

# %% wrong_stream_eos_none_is_zero, of right_stream_own_loop
# WRONG: without an eos_token_id, token 0 ends the stream
# -         if token.item() == eos_token_id:
# +         if token.item() == (eos_token_id or 0):

# %% wrong_stream_falsy_eos, of right_stream_own_loop
# WRONG: asks `if eos_token_id`, so that the id 0 never ends the stream
# -         if token.item() == eos_token_id:
# +         if eos_token_id and token.item() == eos_token_id:

# %% wrong_stream_runs_on, of right_stream_own_loop
# WRONG: goes on after it has handed over the EOS
# -         if token.item() == eos_token_id:
# -             return

# %% wrong_stream_gradients, of right_stream_decorated
# WRONG: gradients are recorded
# - @torch.no_grad()

# %% wrong_stream_writes_into_the_prompt, of right_stream_own_loop
# WRONG: the caller's ids grow with the answer
#   def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     prompt = idx
# ...
#           idx = torch.cat((idx, token), dim=1)
# +         prompt.set_(idx.clone())

# %% wrong_stream_drops_eos_at_the_limit, of right_stream_own_loop
# WRONG: an EOS that comes as the last token allowed is not handed over
# -     for _ in range(max_new_tokens):
# +     for step in range(max_new_tokens):
# ...
# -         yield token.item()
# +         if step < max_new_tokens - 1 or token.item() != eos_token_id:
# +             yield token.item()

# %% wrong_stream_gradients_held_with_a_generator
# WRONG: where a generator is given, gradients stay off while the stream waits

from contextlib import nullcontext


def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    with torch.no_grad() if generator is not None else nullcontext():
        for _ in range(max_new_tokens):
            idx = generate(
                model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator
            )
            token = int(idx[0, -1])
            yield token
            if token == eos_token_id:
                return


# %% wrong_stream_finishes_on_close
# WRONG: a stream that is dropped early makes the tokens that nobody asked for
def stream(model, idx, *, max_new_tokens, eos_token_id=None, **settings):
    left = max_new_tokens
    try:
        while left:
            idx = generate(model, idx, max_new_tokens=1, **settings)
            left -= 1
            token = int(idx[0, -1])
            yield token
            if token == eos_token_id:
                left = 0
    finally:
        generate(model, idx, max_new_tokens=left, eos_token_id=eos_token_id, **settings)


# %% wrong_stream_same_object, of right_stream_own_loop
# WRONG: asks whether the token is the very object that EOS is: two equal numbers above 256 are not
# -         if token.item() == eos_token_id:
# +         if token.item() is eos_token_id:


# %% wrong_stream_at_most_512, of right_stream_own_loop
# WRONG: gives 512 tokens at the most
# -     for _ in range(max_new_tokens):
# +     for _ in range(min(max_new_tokens, 512)):


# %% wrong_stream_evaluation_mode, of right_stream_own_loop
# WRONG: puts a torch module into evaluation mode and leaves it there
#   def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if isinstance(model, torch.nn.Module):
# +         model.eval()


# %% wrong_stream_names_the_argument, of right_stream_own_loop
# WRONG: hands the ids to the model by a name, which another callable does not have
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(ids=idx[:, -block_size:])[:, -1]


# %% wrong_stream_rolls_the_prompt, of right_stream_own_loop
# WRONG: where the prompt fills the window, moves the text on inside the caller's ids
# -         idx = torch.cat((idx, token), dim=1)
# +         if idx.shape[1] == block_size:
# +             idx[:, :-1] = idx[:, 1:].clone()
# +             idx[:, -1:] = token
# +         else:
# +             idx = torch.cat((idx, token), dim=1)


# %% wrong_stream_each_token_from_the_same_state, of right_stream_own_loop
# WRONG: the global random state is the same again before each token: without a generator all draws are the same
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:])[:, -1]
# +             if generator is None:
# +                 torch.manual_seed(0)

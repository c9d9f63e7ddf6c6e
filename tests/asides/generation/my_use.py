# What is done with a stream, for "Find the bug" of the day of the loop. How it is judged: tests/test_asides.py.


# %% right_asks
# RIGHT: asks for gradient mode between two tokens
def my_use(tokens):
    next(tokens)
    return torch.is_grad_enabled()


# %% right_trains
# RIGHT: a training step between two tokens
def my_use(tokens):
    weight = torch.ones(1, requires_grad=True)
    next(tokens)
    loss = (2 * weight).sum()
    return loss.requires_grad


# %% right_in_a_loop
# RIGHT: asks at every token
def my_use(tokens):
    return [(token, torch.is_grad_enabled()) for token in tokens]


# %% right_shows_a_tensor
# RIGHT: gives a tensor back, whose history is missing
def my_use(tokens):
    next(tokens)
    return torch.ones(1, requires_grad=True) * 2


# %% right_backward
# RIGHT: the error of a backward pass, as text
def my_use(tokens):
    weight = torch.ones(1, requires_grad=True)
    next(tokens)
    try:
        (weight * 3).sum().backward()
    except RuntimeError:
        return "no gradient"
    return weight.grad


# %% wrong_reads
# WRONG: the cell's own
def my_use(tokens):
    return list(tokens)


# %% wrong_first
# WRONG: the first token only
def my_use(tokens):
    return next(tokens)


# %% wrong_before
# WRONG: asks before the first token
def my_use(tokens):
    mode = torch.is_grad_enabled()
    next(tokens)
    return mode


# %% wrong_after
# WRONG: asks when the stream has ended
def my_use(tokens):
    for _token in tokens:
        pass
    return torch.is_grad_enabled()


# %% wrong_type
# WRONG: what kind of stream it is
def my_use(tokens):
    return type(tokens)


# %% wrong_itself
# WRONG: the stream itself, which is another each time
def my_use(tokens):
    return tokens


# %% wrong_luck
# WRONG: a number drawn
def my_use(tokens):
    return torch.rand(1).item()


# %% wrong_nothing
# WRONG: nothing
def my_use(tokens):
    pass


# %% wrong_two_asked
# WRONG: two tokens, added
def my_use(tokens):
    return next(tokens) + next(tokens)


# %% wrong_switches_itself
# WRONG: switches gradients on itself
def my_use(tokens):
    next(tokens)
    with torch.enable_grad():
        return torch.is_grad_enabled()


# %% right_train_raises
# RIGHT: a training step between two tokens: it fails with the colleague's
def my_use(tokens):
    w = torch.zeros(1, requires_grad=True)
    for t in tokens:
        ((w - t) ** 2).sum().backward()
    return w.grad


# %% wrong_iter_map
# WRONG: an object, and where it lies in memory
def my_use(tokens):
    return map(str, tokens)


# %% wrong_lambda_obj
# WRONG: an object, and where it lies in memory
def my_use(tokens):
    return lambda: next(tokens)


# %% wrong_time
# WRONG: the clock decides, not the stream
def my_use(tokens):
    s = time.perf_counter(); list(tokens)
    return time.perf_counter() - s


# %% wrong_time_ms
# WRONG: the clock decides, not the stream
def my_use(tokens):
    begin = time.time(); list(tokens)
    return round(time.time() - begin, 4)


# %% wrong_len
# WRONG: no stream has a length
def my_use(tokens):
    return len(tokens)

# === colleagues_done
# Repairs of a rule that waits for all rows at once, in the lesson's cell of the day of the loop. How they are judged: tests/lessons/test_asides.py.


# %% right_any_of_a_row
# RIGHT: each row has one somewhere
def colleagues_done(made, eos):
    return bool((made == eos).any(dim=1).all())


# %% right_row_by_row
# RIGHT: in Python's lists
def colleagues_done(made, eos):
    return all(eos in row for row in made.tolist())


# %% right_counted
# RIGHT: the smallest count of a row, as a tensor
def colleagues_done(made, eos):
    return (made == eos).sum(dim=1).min() > 0


# %% right_rows_that_ended
# RIGHT: as many rows with an end as there are rows
def colleagues_done(made, eos):
    return len({row for row, _ in (made == eos).nonzero().tolist()}) == len(made)


# %% right_largest
# RIGHT: the largest truth value of each row
def colleagues_done(made, eos):
    return bool(torch.amax(made.eq(eos), 1).all())


# %% wrong_as_it_stands
# WRONG: the colleague's own
def colleagues_done(made, eos):
    return bool((made[:, -1] == eos).all())


# %% wrong_any_row
# WRONG: done with the first row that ends
def colleagues_done(made, eos):
    return bool((made == eos).any())


# %% wrong_newest_of_any
# WRONG: done with the first row that ends, by its newest token
def colleagues_done(made, eos):
    return bool((made[:, -1] == eos).any())


# %% wrong_as_many_ends_as_rows
# WRONG: ends counted over all rows
def colleagues_done(made, eos):
    return int((made == eos).sum()) >= made.shape[0]


# %% wrong_other_dimension
# WRONG: an end in each step
def colleagues_done(made, eos):
    return bool((made == eos).any(dim=0).all())


# %% wrong_zero
# WRONG: 0, whatever the end is
def colleagues_done(made, eos):
    return bool((made == 0).any(dim=1).all())


# %% wrong_smallest
# WRONG: the smallest id of a row, right for 0 only
def colleagues_done(made, eos):
    return bool((made.min(dim=1).values == 0).all())


# %% wrong_last_two
# WRONG: one of the last two tokens
def colleagues_done(made, eos):
    return bool((made[:, -2:] == eos).any(dim=1).all())


# %% wrong_only_ends
# WRONG: nothing but ends
def colleagues_done(made, eos):
    return bool((made == eos).all())


# %% wrong_never
# WRONG: never
def colleagues_done(made, eos):
    return False


# %% wrong_always
# WRONG: at once
def colleagues_done(made, eos):
    return True


# %% wrong_gives_nothing
# WRONG: nothing is given back
def colleagues_done(made, eos):
    bool((made == eos).any(dim=1).all())


# %% wrong_truth_of_many
# WRONG: a truth value for each row
def colleagues_done(made, eos):
    return (made == eos).any(dim=1)


# %% wrong_not_written
# WRONG: taken out
def colleagues_done(made, eos):
    raise NotImplementedError("colleagues_done")


# %% wrong_a_name_that_is_not_there
# WRONG: a name that nobody has defined
def colleagues_done(made, eos):
    return bool((made == EOS).any(dim=1).all())


# === generate_each
# Answers to the challenge of the day of the loop. How they are judged: tests/lessons/test_asides.py.


# %% right_alive
# RIGHT: a list of the rows that go on
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    made, alive = [[] for _ in idx], list(range(len(idx)))
    for _step in range(max_new_tokens):
        if not alive:
            break
        with torch.no_grad():
            logits = model(idx[:, -block_size:])[:, -1]
        token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
        for i, b in enumerate(alive):
            made[b].append(int(token[i]))
        idx = torch.cat([idx, token], dim=1)
        going = [i for i, b in enumerate(alive) if made[b][-1] != eos_token_id]
        idx, alive = idx[going], [alive[i] for i in going]
    return made


# %% right_mask
# RIGHT: all rows are kept, and those that go on are picked for each call
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    rows = [row.tolist() for row in idx]
    prompt = idx.shape[1]
    ended = [False] * len(rows)
    for _step in range(max_new_tokens):
        at = [b for b in range(len(rows)) if not ended[b]]
        if not at:
            break
        logits = model(torch.tensor([rows[b] for b in at])[:, -block_size:])[:, -1]
        for row, b in zip(logits, at):
            token = sample_next_token(row[None], generator=generators[b], **settings).item()
            rows[b].append(token)
            ended[b] = token == eos_token_id
    return [row[prompt:] for row in rows]


# %% right_dictionary
# RIGHT: the rows that go on, by their number
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    going = dict(enumerate(idx))
    done = {}
    for _step in range(max_new_tokens):
        if going:
            logits = model(torch.stack(list(going.values()))[:, -block_size:])[:, -1:]
            for b, scores in zip(list(going), logits):
                token = sample_next_token(scores, generator=generators[b], **settings)[0]
                going[b] = torch.cat([going[b], token])
                if token == eos_token_id:
                    done[b] = going.pop(b)
    return [(done | going)[b][idx.shape[1] :].tolist() for b in range(len(idx))]


# %% wrong_row_by_row
# WRONG: right, with a call for each row and step
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    limits = {"max_new_tokens": max_new_tokens, "block_size": block_size, "eos_token_id": eos_token_id}
    return [generate(model, row[None], generator=g, **limits, **settings)[0, idx.shape[1] :].tolist() for row, g in zip(idx, generators)]


# %% wrong_one_generator, of right_alive
# WRONG: the first generator for all rows
# -         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
# +         token = sample_next_token(logits, generator=generators[0], **settings)


# %% wrong_by_place, of right_alive
# WRONG: the generator of the place in the batch, not of the request
# -         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
# +         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[i], **settings) for i, b in enumerate(alive)])


# %% wrong_ended_rows_computed, of right_mask
# WRONG: the model is given the rows that have ended as well, cut to the length of the others
# -         logits = model(torch.tensor([rows[b] for b in at])[:, -block_size:])[:, -1]
# +         length = max(len(row) for row in rows)
# +         logits = model(torch.tensor([row + [0] * (length - len(row)) for row in rows])[:, -block_size:])[at, -1]


# %% wrong_fills, of right_mask
# WRONG: rows that have ended are filled with EOS
# -     return [row[prompt:] for row in rows]
# +     return [row[prompt:] + [0] * (max(map(len, rows)) - len(row)) for row in rows]


# %% wrong_drops_eos, of right_mask
# WRONG: the EOS is no part of the answer
# -     return [row[prompt:] for row in rows]
# +     return [[token for token in row[prompt:] if token != eos_token_id] for row in rows]


# %% wrong_with_prompt, of right_mask
# WRONG: the prompt stands before the answer
# -     return [row[prompt:] for row in rows]
# +     return rows


# %% wrong_no_window, of right_mask
# WRONG: the model is given more than block_size tokens
# -         logits = model(torch.tensor([rows[b] for b in at])[:, -block_size:])[:, -1]
# +         logits = model(torch.tensor([rows[b] for b in at]))[:, -1]


# %% wrong_draws_for_all, of right_mask
# WRONG: the generators of rows that have ended go on drawing
# -         for row, b in zip(logits, at):
# +         for b in set(range(len(rows))) - set(at):
# +             torch.rand(1, 1, generator=generators[b])
# +         for row, b in zip(logits, at):


# %% wrong_settings_lost, of right_mask
# WRONG: the settings do not reach the sampler
# -             token = sample_next_token(row[None], generator=generators[b], **settings).item()
# +             token = sample_next_token(row[None], generator=generators[b]).item()


# %% wrong_eos_in_prompt, of right_mask
# WRONG: an EOS in the prompt ends a row
# -     ended = [False] * len(rows)
# +     ended = [eos_token_id in row for row in rows]


# %% wrong_call_after_the_end, of right_mask
# WRONG: the model is called once more, for nobody
# -     return [row[prompt:] for row in rows]
# +     model(idx[:, -block_size:])
# +     return [row[prompt:] for row in rows]


# %% wrong_same_seed, of right_alive
# WRONG: generators of its own, with the seeds that it guesses
# -         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
# +         token = torch.cat([sample_next_token(logits[i : i + 1], generator=torch.Generator().manual_seed(b), **settings) for i, b in enumerate(alive)])


# %% wrong_no_eos_given_crashes
# WRONG: cannot do without an EOS
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    made, alive, ids = [[] for _ in generators], torch.arange(len(generators)), idx.clone()
    for _ in range(max_new_tokens):
        if not len(alive):
            break
        logits = model(ids[:, -block_size:])[:, -1]
        new = torch.cat([sample_next_token(logits[i:i+1], generator=generators[b], **settings) for i, b in enumerate(alive)])
        for i, b in enumerate(alive):
            made[b].append(int(new[i]))
        keep = new[:, 0] != int(eos_token_id)
        ids = torch.cat([ids, new], 1)[keep]; alive = alive[keep]
    return made


# %% wrong_tensors_instead_of_ints, of right_blind
# WRONG: tensors of one number for the numbers
# -             made[b].append(int(new[i]))
# +             made[b].append(new[i, 0])
# ...
# -         keep = [i for i, b in enumerate(alive) if eos_token_id is None or made[b][-1] != eos_token_id]
# +         keep = [i for i, b in enumerate(alive) if made[b][-1] != eos_token_id]


# %% wrong_ends_at_token_0_always, of right_blind
# WRONG: ends at token 0, whatever the EOS is
# -         keep = [i for i, b in enumerate(alive) if eos_token_id is None or made[b][-1] != eos_token_id]
# +         keep = [i for i, b in enumerate(alive) if made[b][-1] != 0]


# %% right_blind
# RIGHT: rows in a list, those that have ended left out
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    made, alive, ids = [[] for _ in generators], list(range(len(generators))), idx.clone()
    for _ in range(max_new_tokens):
        if not alive:
            break
        logits = model(ids[:, -block_size:])[:, -1]
        new = torch.cat([sample_next_token(logits[i:i+1], generator=generators[b], **settings) for i, b in enumerate(alive)])
        for i, b in enumerate(alive):
            made[b].append(int(new[i]))
        ids = torch.cat([ids, new], 1)
        keep = [i for i, b in enumerate(alive) if eos_token_id is None or made[b][-1] != eos_token_id]
        alive, ids = [alive[i] for i in keep], ids[keep]
    return made


# === my_prompts
# Prompts for "Find the bug" of the day of the loop, a batch that waits for all rows at once. How they are judged: tests/lessons/test_asides.py.


# %% right_figure
# RIGHT: the two rows of the figure
my_prompts = ["the", "dog"]


# %% right_three
# RIGHT: one row of three is nearer to its end
my_prompts = ["the", "the", "cat"]


# %% right_from_the_end
# RIGHT: one begins behind an end
my_prompts = ["<end>", "sat"]


# %% right_all_words
# RIGHT: all there are
my_prompts = list(words)


# %% wrong_one
# WRONG: the cell's own
my_prompts = ["the"]


# %% wrong_twice_the_same
# WRONG: two rows that end together
my_prompts = ["dog", "dog"]


# %% wrong_as_far_from_the_end
# WRONG: different words, as far from the end
my_prompts = ["cat", "dog"]


# %% wrong_last_words
# WRONG: both end at once
my_prompts = ["sat", "ran"]


# %% wrong_none
# WRONG: no rows
my_prompts = []


# %% wrong_unknown
# WRONG: a word that the model does not know
my_prompts = ["the", "bird"]


# %% wrong_one_text
# WRONG: a text instead of a list of words
my_prompts = "the dog"


# %% wrong_end_alone
# WRONG: the longest way, alone
my_prompts = ["<end>"]


# %% right_tuple
# RIGHT: a tuple
my_prompts = ("ran", "ran", "the")


# %% wrong_nothing
# WRONG: nothing
my_prompts = None


# %% wrong_a_word
# WRONG: one word, not in a list
my_prompts = "dog"


# %% wrong_ids
# WRONG: ids instead of words
my_prompts = [1, 3]


# %% wrong_tensor
# WRONG: a tensor of ids
my_prompts = torch.tensor([1, 3])


# %% wrong_lists
# WRONG: prompts of several words
my_prompts = [["the", "dog"], ["cat"]]


# %% wrong_not_a_number
# WRONG: not a number
my_prompts = [float("nan"), "the"]


# %% wrong_too_many
# WRONG: more rows than the cell takes
my_prompts = ["the", "dog"] * 1000


# %% wrong_other_case
# WRONG: words that the model does not know, in capitals
my_prompts = ["The", "Dog"]


# === my_sentence
# Answers to "Check what you read" of the day of the loop. How they are judged: tests/lessons/test_asides.py.


# %% right_by_hand
# RIGHT: the one that is better
my_sentence = ["dog", "ran", "<end>"]


# %% right_tuple
# RIGHT: the same, as a tuple
my_sentence = ("dog", "ran", "<end>")


# %% right_searched
# RIGHT: found by trying all sentences of two words
my_sentence = max(
    ([a, b, "<end>"] for a in words for b in words if a != "<end>" != b),
    key=lambda s: table[1, words.index(s[0])] * table[words.index(s[0]), words.index(s[1])] * table[words.index(s[1]), 0],
)


# %% wrong_greedy
# WRONG: greedy's own
my_sentence = ["cat", "sat", "<end>"]


# %% wrong_half_a_sentence
# WRONG: more probable, and not at its end
my_sentence = ["cat"]


# %% wrong_empty
# WRONG: nothing
my_sentence = []


# %% wrong_short
# WRONG: short, and improbable
my_sentence = ["cat", "<end>"]


# %% wrong_second_best
# WRONG: the other verb
my_sentence = ["dog", "sat", "<end>"]


# %% wrong_unknown_word
# WRONG: a word that the model does not know
my_sentence = ["bird", "flew", "<end>"]


# %% wrong_goes_on
# WRONG: the better one, and a sentence after it
my_sentence = ["dog", "ran", "<end>", "the", "dog", "ran", "<end>"]


# %% wrong_longer
# WRONG: a longer one
my_sentence = ["cat", "sat", "the", "dog", "ran", "<end>"]


# %% wrong_with_the_prompt
# WRONG: the prompt once more
my_sentence = ["the", "dog", "ran", "<end>"]


# === my_use
# What is done with a stream, for "Find the bug" of the day of the loop. How it is judged: tests/lessons/test_asides.py.


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

# Versions of generate_speculative, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_speculative_plain
# RIGHT: prefill apart, then rounds; most of the wrong versions are edits of it

def generate_speculative(
    model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    ids = idx[0].tolist()
    goal = len(ids) + max_new_tokens
    vocab = model.config.vocab_size
    cache = KVCache(model.config, 1, min(block_size, goal), model.weights.embed_tokens.dtype)
    with torch.no_grad():
        while len(ids) < goal:
            guess, q = [], None
            if cache.length == 0 or len(ids) > block_size:
                cache.reset()
                fed = ids[-block_size:]
            else:
                n = min(k, goal - len(ids) - 1, block_size - len(ids))
                if n > 0:
                    guess, q = draft(ids, n)
                for token in guess:
                    if token < 0 or token >= vocab:
                        raise ValueError(f"{token} is not in the vocabulary")
                fed = ids[-1:] + guess
            logits = forward_cached(model, torch.tensor([fed]), cache)[0]
            logits = logits[len(logits) - len(guess) - 1 :]
            probs = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
            tokens = torch.tensor(guess, dtype=torch.long)
            if temperature == 0:
                new = greedy_verify(logits, tokens)
            else:
                if q is None:
                    q = torch.zeros(len(guess), vocab)
                    q[torch.arange(len(guess)), tokens] = 1.0
                u = torch.rand(len(guess) + 1, generator=generator)
                new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
            if eos_token_id is not None and eos_token_id in new:
                new = new[: new.index(eos_token_id) + 1]
                ids = ids + new
                break
            ids = ids + new
            truncate(cache, min(len(ids) - 1, cache.length))
    return torch.tensor([ids])


# %% right_speculative_early_stop
# RIGHT: no guesses as soon as a whole draft would not fit into the window; a Python loop for the greedy case; a cache of block_size

def generate_speculative(
    model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    text, made = idx[0].tolist(), []
    cache = KVCache(model.config, 1, block_size, model.weights.embed_tokens.dtype, idx.device)
    with torch.no_grad():
        while len(made) < max_new_tokens:
            so_far = text + made
            left = max_new_tokens - len(made)
            guess, q = [], None
            if cache.length and len(so_far) + k <= block_size and min(k, left - 1) > 0:
                guess, q = draft(so_far, min(k, left - 1))
            if any(t not in range(model.config.vocab_size) for t in guess):
                raise ValueError(f"no such token: {guess}")
            if len(so_far) > block_size:
                cache.reset()
                logits = forward_cached(model, torch.tensor([so_far[-block_size:]]), cache)
            else:
                logits = forward_cached(model, torch.tensor([so_far[cache.length :] + guess]), cache)
            p = filtered_probs(logits[0][-(len(guess) + 1) :], temperature=temperature, top_k=top_k, top_p=top_p)
            n = 0
            if temperature == 0:
                while n < len(guess) and int(p[n].argmax()) == guess[n]:
                    n += 1
                new = guess[:n] + [int(p[n].argmax())]
            else:
                q = torch.nn.functional.one_hot(torch.tensor(guess, dtype=torch.int64), p.shape[1]) if q is None else q
                numbers = torch.rand(1 + len(guess), generator=generator, dtype=torch.float64)
                new = verify_sampled(p, q.to(p.dtype), torch.tensor(guess, dtype=torch.int64), numbers)
                n = len(new) - 1
            truncate(cache, cache.length - len(guess) + n)
            if eos_token_id in new:
                made += new[: new.index(eos_token_id) + 1]
                break
            made += new
    return torch.tensor([text + made], dtype=torch.int64)


# %% right_speculative_multinomial
# RIGHT: the rule of acceptance written out, with torch's own draws

def generate_speculative(
    model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    ids = idx.clone()
    end = ids.shape[1] + max_new_tokens
    dtype = model.weights.embed_tokens.dtype
    cache = KVCache(model.config, 1, min(end, block_size), dtype)
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        while ids.shape[1] < end:
            T = ids.shape[1]
            guess, q = [], None
            if T > block_size:
                cache.reset()
            room = min(k, end - T - 1, block_size - T)
            if room > 0 and cache.length > 0:
                guess, q = draft(ids[0].tolist(), room)
            bad = [t for t in guess if not 0 <= t < len(model.weights.embed_tokens)]
            if bad:
                raise ValueError(f"not in the vocabulary: {bad[0]}")
            tail = ids[:, -block_size:][:, cache.length :]
            fed = torch.cat((tail, torch.tensor([guess], dtype=torch.int64)), dim=1)
            logits = forward_cached(model, fed, cache)[0]
            p = filtered_probs(logits[tail.shape[1] - 1 :], temperature=temperature, top_k=top_k, top_p=top_p)
            new = []
            for i, token in enumerate(guess):
                if temperature == 0:
                    keep = int(p[i].argmax()) == token
                elif q is None:
                    keep = float(torch.rand((), generator=generator)) < float(p[i, token])
                else:
                    keep = float(torch.rand((), generator=generator)) * float(q[i, token]) < float(p[i, token])
                if keep:
                    new.append(token)
                    continue
                if temperature == 0:
                    new.append(int(p[i].argmax()))
                else:
                    rest = p[i].clone()
                    if q is None:
                        rest[token] = 0
                    else:
                        rest = (rest - q[i].to(rest)).clamp(min=0)
                    new.append(int(torch.multinomial(rest, 1, generator=generator)))
                break
            else:
                last = p[len(guess)]
                new.append(int(last.argmax()) if temperature == 0 else int(torch.multinomial(last, 1, generator=generator)))
            done = eos_token_id is not None and eos_token_id in new
            if done:
                new = new[: new.index(eos_token_id) + 1]
            ids = torch.cat((ids, torch.tensor([new])), dim=1)
            if done:
                break
            if cache.length > ids.shape[1] - 1:
                truncate(cache, ids.shape[1] - 1)
    finally:
        torch.set_grad_enabled(before)
    return ids


# %% right_speculative_no_numbers_needed, of right_speculative_plain
# RIGHT: the greedy tokens by the sampled rule, with numbers that are not drawn
# -                 new = greedy_verify(logits, tokens)
# +                 sure = torch.nn.functional.one_hot(tokens, vocab).to(probs)
# +                 new = verify_sampled(probs, sure, tokens, torch.zeros(len(guess) + 1))

# %% right_speculative_guess_ends_before_eos, of right_speculative_plain
# RIGHT: a guess is cut before an EOS: if it is right, the pass makes it itself
# -                 fed = ids[-1:] + guess
# +                 if eos_token_id in guess:
# +                     guess = guess[: guess.index(eos_token_id)]
# +                     q = q if q is None else q[: len(guess)]
# +                 fed = ids[-1:] + guess


# %% wrong_speculative_no_rollback, of right_speculative_plain
# WRONG: the keys of refused guesses stay in the cache
# -             truncate(cache, min(len(ids) - 1, cache.length))
# +             if cache.length + k + 1 > cache.max_len:
# +                 cache.reset()

# %% wrong_speculative_rollback_one_short, of right_speculative_plain
# WRONG: the rollback forgets one token too many, and nobody feeds it again
# -             truncate(cache, min(len(ids) - 1, cache.length))
# +             truncate(cache, max(1, min(len(ids) - 2, cache.length)))

# %% wrong_speculative_rollback_one_long, of right_speculative_plain
# WRONG: the rollback keeps the key of a refused guess in the place of the newest token
# -             truncate(cache, min(len(ids) - 1, cache.length))
# +             truncate(cache, min(len(ids), cache.length))

# %% wrong_speculative_first_layer_only, of right_speculative_plain
# WRONG: only the first layer is rolled back
# -             truncate(cache, min(len(ids) - 1, cache.length))
# +             cache.counts = [min(len(ids) - 1, cache.length)] + cache.counts[1:]
# +             if max(cache.counts) + k + 1 > cache.max_len:
# +                 cache.reset()

# %% wrong_speculative_past_the_end, of right_speculative_plain
# WRONG: an EOS among the guesses that are kept is passed over
# -             if eos_token_id is not None and eos_token_id in new:
# -                 new = new[: new.index(eos_token_id) + 1]
# -                 ids = ids + new
# -                 break
# +             if eos_token_id is not None and new[-1] == eos_token_id:
# +                 ids = ids + new
# +                 break

# %% wrong_speculative_tokens_behind_eos, of right_speculative_plain
# WRONG: the run stops at an EOS and keeps what was accepted after it
# -                 new = new[: new.index(eos_token_id) + 1]

# %% wrong_speculative_drops_the_eos, of right_speculative_plain
# WRONG: the EOS itself is dropped
# -                 new = new[: new.index(eos_token_id) + 1]
# +                 new = new[: new.index(eos_token_id)]

# %% wrong_speculative_eos_of_the_prompt, of right_speculative_plain
# WRONG: an EOS in the prompt ends the run
# -         while len(ids) < goal:
# +         while len(ids) < goal and eos_token_id not in ids:

# %% wrong_speculative_too_many, of right_speculative_plain
# WRONG: more than max_new_tokens: the guesses do not shrink to what is left
# -                 n = min(k, goal - len(ids) - 1, block_size - len(ids))
# +                 n = min(k, block_size - len(ids), cache.max_len - cache.length - 1)

# %% wrong_speculative_cut_at_the_end
# WRONG: guesses more than are of use, and cuts the text at the end
def generate_speculative(
    model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    ids = idx[0].tolist()
    goal = len(ids) + max_new_tokens
    cache = KVCache(model.config, 1, block_size, model.weights.embed_tokens.dtype)
    with torch.no_grad():
        while len(ids) < goal:
            if len(ids) > block_size:
                cache.reset()
            n = min(k, block_size - len(ids)) if cache.length else 0
            guess, q = draft(ids, n) if n > 0 else ([], None)
            for token in guess:
                if not 0 <= token < model.config.vocab_size:
                    raise ValueError(f"no token: {token}")
            fed = ids[-block_size:][cache.length :] + guess
            logits = forward_cached(model, torch.tensor([fed]), cache)[0, -len(guess) - 1 :]
            p = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
            tokens = torch.tensor(guess, dtype=torch.int64)
            if temperature == 0:
                new = greedy_verify(p, tokens)
            else:
                q = torch.nn.functional.one_hot(tokens, p.shape[-1]) if q is None else q
                new = verify_sampled(p, q.to(p), tokens, torch.rand(len(guess) + 1, generator=generator))
            if eos_token_id in new:
                ids += new[: new.index(eos_token_id) + 1]
                break
            ids += new
            truncate(cache, cache.length - (len(guess) + 1 - len(new)))
    return torch.tensor([ids[:goal]])


# %% wrong_speculative_p_unfiltered, of right_speculative_plain
# WRONG: p is taken before top-k and top-p
# -             probs = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
# +             filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
# +             probs = filtered_probs(logits, temperature=temperature)

# %% wrong_speculative_filtered_behind, of right_speculative_plain
# WRONG: the ratio is of unfiltered laws, and tokens outside the filters are struck out afterwards
# -                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 raw = filtered_probs(logits, temperature=temperature)
# +                 new = verify_sampled(raw, q.to(raw.dtype), tokens, u)
# +                 if probs[len(new) - 1, new[-1]] == 0:
# +                     new[-1] = int(probs[len(new) - 1].argmax())
# +                 for i, token in enumerate(new):
# +                     if probs[i, token] == 0:
# +                         new = new[:i] + [int(probs[i].argmax())]
# +                         break

# %% wrong_speculative_no_temperature, of right_speculative_plain
# WRONG: the temperature is not handed on
# -             probs = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
# +             filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
# +             probs = filtered_probs(logits, top_k=top_k, top_p=top_p)

# %% wrong_speculative_q_filtered_again, of right_speculative_plain
# WRONG: q is filtered, although the draft did not draw from the filtered law
# -             probs = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
# +             probs = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
# +             if q is not None and temperature:
# +                 q = filtered_probs(q.log(), temperature=temperature, top_k=top_k, top_p=top_p)

# %% wrong_speculative_certain_is_even, of right_speculative_plain
# WRONG: a draft without q counts as one that draws from all tokens alike
# -                     q = torch.zeros(len(guess), vocab)
# -                     q[torch.arange(len(guess)), tokens] = 1.0
# +                     q = torch.full((len(guess), vocab), 1.0 / vocab)

# %% wrong_speculative_certain_of_all, of right_speculative_plain
# WRONG: what replaces a refused guess of a draft without q is drawn from the model's whole law
# -                     q = torch.zeros(len(guess), vocab)
# +                     q = torch.ones(len(guess), vocab)

# %% wrong_speculative_certain_is_kept, of right_speculative_plain
# WRONG: a draft without q is believed: its guesses are all kept
# -                     q = torch.zeros(len(guess), vocab)
# -                     q[torch.arange(len(guess)), tokens] = 1.0
# +                     q = probs[: len(guess)]

# %% wrong_speculative_one_pass_a_guess
# WRONG: the guesses go through the model one after the other
def generate_speculative(
    model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    ids = idx[0].tolist()
    goal = len(ids) + max_new_tokens
    cache = KVCache(model.config, 1, min(block_size, goal), model.weights.embed_tokens.dtype)
    with torch.no_grad():
        while len(ids) < goal:
            if len(ids) > block_size:
                cache.reset()
            room = min(k, goal - len(ids) - 1, block_size - len(ids)) if cache.length else 0
            guess, q = draft(ids, room) if room > 0 else ([], None)
            for token in guess:
                if not 0 <= token < model.config.vocab_size:
                    raise ValueError(f"no token: {token}")
            fed = ids[-block_size:][cache.length :]
            rows = [forward_cached(model, torch.tensor([fed]), cache)[0, -1:]]
            rows += [forward_cached(model, torch.tensor([[token]]), cache)[0] for token in guess]
            p = filtered_probs(torch.cat(rows), temperature=temperature, top_k=top_k, top_p=top_p)
            tokens = torch.tensor(guess, dtype=torch.int64)
            if temperature == 0:
                new = greedy_verify(p, tokens)
            else:
                q = torch.nn.functional.one_hot(tokens, p.shape[-1]) if q is None else q
                new = verify_sampled(p, q.to(p), tokens, torch.rand(len(guess) + 1, generator=generator))
            if eos_token_id in new:
                ids += new[: new.index(eos_token_id) + 1]
                break
            ids += new
            truncate(cache, cache.length - (len(guess) + 1 - len(new)))
    return torch.tensor([ids])


# %% wrong_speculative_prefix_again
# WRONG: the whole text goes through the model in every round
def generate_speculative(
    model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    ids = idx[0].tolist()
    start, goal = len(ids), len(ids) + max_new_tokens
    cache = KVCache(model.config, 1, min(block_size, goal), model.weights.embed_tokens.dtype)
    with torch.no_grad():
        while len(ids) < goal:
            room = min(k, goal - len(ids) - 1, block_size - len(ids)) if len(ids) > start else 0
            guess, q = draft(ids, room) if room > 0 else ([], None)
            for token in guess:
                if not 0 <= token < model.config.vocab_size:
                    raise ValueError(f"no token: {token}")
            cache.reset()
            logits = forward_cached(model, torch.tensor([ids[-block_size:] + guess]), cache)[0, -len(guess) - 1 :]
            p = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
            tokens = torch.tensor(guess, dtype=torch.int64)
            if temperature == 0:
                new = greedy_verify(p, tokens)
            else:
                q = torch.nn.functional.one_hot(tokens, p.shape[-1]) if q is None else q
                new = verify_sampled(p, q.to(p), tokens, torch.rand(len(guess) + 1, generator=generator))
            if eos_token_id in new:
                ids += new[: new.index(eos_token_id) + 1]
                break
            ids += new
    return torch.tensor([ids])


# %% wrong_speculative_global_state, of right_speculative_plain
# WRONG: the generator is not used
# -                 u = torch.rand(len(guess) + 1, generator=generator)
# +                 u = torch.rand(len(guess) + 1)

# %% wrong_speculative_seeds_itself, of right_speculative_plain
# WRONG: without a generator the numbers come from one with a fixed seed
# -     vocab = model.config.vocab_size
# +     vocab = model.config.vocab_size
# +     generator = generator or torch.Generator().manual_seed(0)

# %% wrong_speculative_greedy_draws, of right_speculative_plain
# WRONG: a random number is drawn at temperature 0 too
# -             if temperature == 0:
# +             torch.rand(1, generator=generator)
# +             if temperature == 0:

# %% wrong_speculative_same_numbers, of right_speculative_plain
# WRONG: one random number serves for all guesses of a round
# -                 u = torch.rand(len(guess) + 1, generator=generator)
# +                 u = torch.rand(1, generator=generator).expand(len(guess) + 1)

# %% wrong_speculative_one_guess_at_most, of right_speculative_plain
# WRONG: only the first guess is used
# -                 fed = ids[-1:] + guess
# +                 guess, q = guess[:1], q if q is None else q[:1]
# +                 fed = ids[-1:] + guess

# %% wrong_speculative_any_token, of right_speculative_plain
# WRONG: the guesses are not looked at
# -                 for token in guess:
# -                     if token < 0 or token >= vocab:
# -                         raise ValueError(f"{token} is not in the vocabulary")

# %% wrong_speculative_strange_guesses_dropped, of right_speculative_plain
# WRONG: guesses outside the vocabulary are dropped in silence
# -                 for token in guess:
# -                     if token < 0 or token >= vocab:
# -                         raise ValueError(f"{token} is not in the vocabulary")
# +                 if any(token < 0 or token >= vocab for token in guess):
# +                     guess, q = [], None

# %% wrong_speculative_window_of_guesses, of right_speculative_plain
# WRONG: past block_size the window slides no more: the cache is rebuilt only once, and holds everything
# -     cache = KVCache(model.config, 1, min(block_size, goal), model.weights.embed_tokens.dtype)
# +     cache = KVCache(model.config, 1, goal, model.weights.embed_tokens.dtype)
# ...
# -             if cache.length == 0 or len(ids) > block_size:
# +             if cache.length == 0:
# ...
# -                 n = min(k, goal - len(ids) - 1, block_size - len(ids))
# +                 n = min(k, goal - len(ids) - 1)

# %% wrong_speculative_draft_sees_the_prompt, of right_speculative_plain
# WRONG: the draft is asked with the prompt only
# -                     guess, q = draft(ids, n)
# +                     guess, q = draft(idx[0].tolist(), n)

# %% wrong_speculative_draft_without_the_newest, of right_speculative_plain
# WRONG: the draft is asked without the newest token
# -                     guess, q = draft(ids, n)
# +                     guess, q = draft(ids[:-1], n)

# %% wrong_speculative_default_k, of right_speculative_plain
# WRONG: k is 5 if nothing is said
# -     model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
# +     model, idx, *, max_new_tokens, block_size, draft, k=5, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None

# %% wrong_speculative_greedy_by_default, of right_speculative_plain
# WRONG: the temperature is 0 if nothing is said
# -     model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
# +     model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=0.0, top_k=None, top_p=None, eos_token_id=None, generator=None

# %% wrong_speculative_only_new, of right_speculative_plain
# WRONG: gives the new tokens without the prompt
# -     return torch.tensor([ids])
# +     return torch.tensor([ids[idx.shape[1] :]], dtype=torch.int64)

# %% wrong_speculative_gradients, of right_speculative_plain
# WRONG: gradients are recorded
# -     with torch.no_grad():
# +     with torch.enable_grad():

# %% wrong_speculative_gradients_stay_off, of right_speculative_plain
# WRONG: gradients are off for good afterwards
# -     with torch.no_grad():
# +     torch.set_grad_enabled(False)
# +     if True:

# %% wrong_speculative_rows_one_off, of right_speculative_plain
# WRONG: the rows of the pass begin one too late: guess i is compared with the prediction for the token after it
# -             logits = logits[len(logits) - len(guess) - 1 :]
# +             logits = torch.cat((logits[len(logits) - len(guess) :], logits[-1:]))

# %% wrong_speculative_greedy_rollback_only, of right_speculative_plain
# WRONG: rolls back at temperature 0 only
# -             truncate(cache, min(len(ids) - 1, cache.length))
# +             if temperature == 0:
# +                 truncate(cache, min(len(ids) - 1, cache.length))
# +             elif cache.length + k + 1 > cache.max_len:
# +                 cache.reset()

# %% wrong_speculative_copies, of right_speculative_plain
# WRONG: the rollback copies the keys and values that stay
# -             truncate(cache, min(len(ids) - 1, cache.length))
# +             n = min(len(ids) - 1, cache.length)
# +             if guess:
# +                 keys, values = cache.keys[:, :, :, :n].clone(), cache.values[:, :, :, :n].clone()
# +                 cache.reset()
# +                 for layer in range(len(cache.counts)):
# +                     cache.append(layer, keys[layer], values[layer])

# %% wrong_speculative_first_token_greedy, of right_speculative_plain
# WRONG: the token of the prefill is the best one, not drawn
# -                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 if len(ids) == idx.shape[1]:
# +                     new = [int(probs[-1].argmax())]

# %% wrong_speculative_plain_rounds_greedy, of right_speculative_plain
# WRONG: where nothing was guessed, the token is the best one, not drawn
# -                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 if not guess and len(ids) > idx.shape[1]:
# +                     new = [int(probs[-1].argmax())]

# %% wrong_speculative_window_unfiltered, of right_speculative_plain
# WRONG: after block_size the filters are forgotten
# -                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 if len(ids) > block_size:
# +                     probs = filtered_probs(logits, temperature=temperature)
# +                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)

# %% wrong_speculative_extra_greedy, of right_speculative_plain
# WRONG: the token after guesses that were all kept is the best one, not drawn
# -                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 if guess and len(new) == len(guess) + 1:
# +                     new[-1] = int(probs[-1].argmax())

# %% wrong_speculative_asks_past_the_window, of right_speculative_plain
# WRONG: asks for more than the window has room for, and throws away what does not fit
# -                 n = min(k, goal - len(ids) - 1, block_size - len(ids))
# -                 if n > 0:
# -                     guess, q = draft(ids, n)
# +                 n, room = min(k, goal - len(ids) - 1), block_size - len(ids)
# +                 if n > 0 and room > 0:
# +                     guess, q = draft(ids, n)
# +                     guess, q = guess[:room], q if q is None else q[:room]

# %% wrong_speculative_drawn_pass_by_pass, of right_speculative_plain
# WRONG: where tokens are drawn, the guesses go through the model one after the other
# -             logits = forward_cached(model, torch.tensor([fed]), cache)[0]
# +             if temperature == 0 or not guess:
# +                 logits = forward_cached(model, torch.tensor([fed]), cache)[0]
# +             else:
# +                 logits = torch.cat([forward_cached(model, torch.tensor([[token]]), cache)[0] for token in fed])

# %% wrong_speculative_same_numbers_each_round, of right_speculative_plain
# WRONG: every round begins with the generator's seed again
# -                 u = torch.rand(len(guess) + 1, generator=generator)
# +                 again = None if generator is None else torch.Generator().manual_seed(generator.initial_seed())
# +                 u = torch.rand(len(guess) + 1, generator=again)

# %% wrong_speculative_eos_greedy_only, of right_speculative_plain
# WRONG: where tokens are drawn, an EOS among the guesses that are kept is passed over
# -             if eos_token_id is not None and eos_token_id in new:
# +             if eos_token_id is not None and eos_token_id in (new if temperature == 0 else new[-1:]):

# %% wrong_speculative_drafts_before_the_prefill, of right_speculative_plain
# WRONG: the draft is asked before the prefill, and guesses the first token too
# -             if cache.length == 0 or len(ids) > block_size:
# +             if len(ids) > block_size:
# ...
# -                 fed = ids[-1:] + guess
# +                 fed = ids[cache.length :] + guess

# %% wrong_speculative_q_of_the_first, of right_speculative_plain
# WRONG: the first row of q stands for all guesses
# -                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 new = verify_sampled(probs, q[:1].to(probs.dtype).expand(len(guess), -1), tokens, u)

# %% wrong_speculative_greedy_asks_no_filter, of right_speculative_plain
# WRONG: at temperature 0 the filters are not asked, and settings that they refuse are taken
# -             probs = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
# +             probs = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p) if temperature != 0 else logits


# %% wrong_speculative_counts_what_was_asked
# WRONG: forgets as if the draft had given as many as it was asked for
def generate_speculative(
    model: WeightsOnly,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    draft: Draft,
    k: int = 4,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    ids = idx[0].tolist()
    goal = len(ids) + max_new_tokens
    cache = KVCache(model.config, 1, min(block_size, goal), model.weights.embed_tokens.dtype, idx.device)
    with torch.no_grad():
        while len(ids) < goal:
            if len(ids) > block_size:
                cache.reset()
            room = min(k, goal - len(ids) - 1, block_size - len(ids)) if cache.length else 0
            guess, q = draft(list(ids), room) if room > 0 else ([], None)
            for token in guess:
                if not 0 <= token < model.config.vocab_size:
                    raise ValueError(f"the draft guessed {token}, which is not in the vocabulary of {model.config.vocab_size} tokens")
            fed = ids[-block_size:][cache.length :] + guess  # the prompt, or a slid window, or the newest token
            logits = forward_cached(model, torch.tensor([fed], device=idx.device), cache)[0, -len(guess) - 1 :]  # (k + 1, V)

            p = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
            guessed = torch.tensor(guess, dtype=torch.int64, device=idx.device)
            if temperature == 0:
                new = greedy_verify(p, guessed)
            else:
                certain = torch.nn.functional.one_hot(guessed, p.shape[-1])
                u = torch.rand(len(guess) + 1, generator=generator, device=idx.device)
                new = verify_sampled(p, (certain if q is None else q).to(p), guessed, u)
            if eos_token_id in new:
                ids += new[: new.index(eos_token_id) + 1]
                break
            ids += new
            truncate(cache, max(cache.length - (room + 1 - len(new)), 0) if room > 0 else cache.length)
    return torch.tensor([ids], device=idx.device)


# %% wrong_speculative_shared_number, of right_speculative_plain
# WRONG: what replaces a guess is drawn at the number of the first guess
# -                 u = torch.rand(len(guess) + 1, generator=generator)
# +                 u = torch.rand(len(guess) + 1, generator=generator)
# +                 u[-1] = u[0]


# %% wrong_speculative_rebuilds_a_full_window, of right_speculative_plain
# WRONG: a window that is just full is read again
# -             if cache.length == 0 or len(ids) > block_size:
# +             if cache.length == 0 or len(ids) >= block_size:


# %% wrong_speculative_first_guess_unseen, of right_speculative_plain
# WRONG: the first guess is not checked against the vocabulary
# -                 for token in guess:
# +                 for token in guess[1:]:


# %% wrong_speculative_eos_of_the_config, of right_speculative_plain
# WRONG: where no EOS is named, the config's ends the text
# -     ids = idx[0].tolist()
# +     ids = idx[0].tolist()
# +     eos_token_id = model.config.eos_token_id if eos_token_id is None else eos_token_id

# %% wrong_speculative_certain_from_the_global_state, of right_speculative_plain
# WRONG: with a draft that gives no q, it draws from torch's own state and not from the generator
# -                 if q is None:
# +                 own = None if q is None and guess else generator
# +                 if q is None:
# ...
# -                 u = torch.rand(len(guess) + 1, generator=generator)
# +                 u = torch.rand(len(guess) + 1, generator=own)


# %% wrong_speculative_read_anew_not_counted, of right_speculative_plain
# WRONG: the whole text passes through the model again before every round, with the counter switched off
# -             logits = forward_cached(model, torch.tensor([fed]), cache)[0]
# +             if cache.length:
# +                 from torch.utils._python_dispatch import _disable_current_modes
# +
# +                 stored = cache.length
# +                 with _disable_current_modes():
# +                     cache.reset()
# +                     forward_cached(model, torch.tensor([ids[-block_size:][:stored]]), cache)
# +             logits = forward_cached(model, torch.tensor([fed]), cache)[0]


# %% wrong_speculative_fused_read_anew_not_counted, of right_speculative_plain
# WRONG: PyTorch's own attention reads the whole text again before every round, with the counter switched off
# -             logits = forward_cached(model, torch.tensor([fed]), cache)[0]
# +             if cache.length:
# +                 from torch.utils._python_dispatch import _disable_current_modes
# +
# +                 from course.kit import Model
# +
# +                 with _disable_current_modes():
# +                     Model(model.config, model.weights, lambda: None)(torch.tensor([ids[-block_size:][: cache.length]]))
# +             logits = forward_cached(model, torch.tensor([fed]), cache)[0]


# %% wrong_speculative_certain_is_half, of right_speculative_plain
# WRONG: a draft without q counts as one that gave its tokens half of the probability
# -                     q[torch.arange(len(guess)), tokens] = 1.0
# +                     q[torch.arange(len(guess)), tokens] = 0.5


# %% wrong_speculative_certain_is_half_and_half, of right_speculative_plain
# WRONG: a draft without q counts as half certain: the other half is spread over all tokens
# -                     q = torch.zeros(len(guess), vocab)
# -                     q[torch.arange(len(guess)), tokens] = 1.0
# +                     q = torch.full((len(guess), vocab), 0.5 / vocab)
# +                     q[torch.arange(len(guess)), tokens] += 0.5


# %% wrong_speculative_never_asked_again, of right_speculative_plain
# WRONG: a draft that guessed nothing once is never asked again
#                   n = min(k, goal - len(ids) - 1, block_size - len(ids))
# -                 if n > 0:
# -                     guess, q = draft(ids, n)
# +                 if n > 0 and k > 0:
# +                     guess, q = draft(ids, n)
# +                     k = k if guess else 0


# %% wrong_speculative_last_token_never_said, of right_speculative_plain
# WRONG: the last token of the vocabulary is never said
# -             logits = forward_cached(model, torch.tensor([fed]), cache)[0]
# +             logits = forward_cached(model, torch.tensor([fed]), cache)[0]
# +             logits[:, -1] = -torch.inf


# %% wrong_speculative_token_0_never_drawn, of right_speculative_plain
# WRONG: token 0 is never drawn
# -                 new = verify_sampled(probs, q.to(probs.dtype), tokens, u)
# +                 probs[:, 0] = probs[:, 0] * (probs[:, 0] > 0.9)
# +                 new = verify_sampled(probs / probs.sum(-1, keepdim=True), q.to(probs.dtype), tokens, u)


# %% wrong_speculative_gradients_always_on, of right_speculative_plain
# WRONG: gradients are on afterwards although the caller had switched them off
# -     with torch.no_grad():
# -         while len(ids) < goal:
# +     torch.set_grad_enabled(False)
# +     try:
# +         while len(ids) < goal:
# ...
# -     return torch.tensor([ids])
# +     finally:
# +         torch.set_grad_enabled(True)
# +     return torch.tensor([ids])


# %% wrong_speculative_300_rounds, of right_speculative_plain
# WRONG: the text ends after 300 rounds
# -         while len(ids) < goal:
# +         rounds = 0
# +         while len(ids) < goal and rounds < 300:
# +             rounds += 1


# %% wrong_speculative_no_rollback_by_length
# WRONG: no rollback: the next round feeds what the cache's length says is new
# SAYS: The keys of refused guesses stay in the cache: truncate it after every round.
def generate_speculative(
    model, idx, *, max_new_tokens, block_size, draft, k=4, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    ids = idx[0].tolist()
    goal = len(ids) + max_new_tokens
    cache = KVCache(model.config, 1, block_size + 64, model.weights.embed_tokens.dtype)
    with torch.no_grad():
        while len(ids) < goal:
            if len(ids) > block_size:
                cache.reset()
            room = min(k, goal - len(ids) - 1, block_size - len(ids)) if cache.length else 0
            guess, q = draft(list(ids), room) if room > 0 else ([], None)
            for token in guess:
                if not 0 <= token < model.config.vocab_size:
                    raise ValueError(f"{token} is not in the vocabulary")
            fed = (ids[-block_size:][cache.length :] or ids[-1:]) + guess
            logits = forward_cached(model, torch.tensor([fed]), cache)[0, -len(guess) - 1 :]
            p = filtered_probs(logits, temperature=temperature, top_k=top_k, top_p=top_p)
            guessed = torch.tensor(guess, dtype=torch.int64)
            if temperature == 0:
                new = greedy_verify(p, guessed)
            else:
                certain = torch.nn.functional.one_hot(guessed, p.shape[-1])
                u = torch.rand(len(guess) + 1, generator=generator)
                new = verify_sampled(p, (certain if q is None else q).to(p), guessed, u)
            if eos_token_id in new:
                ids += new[: new.index(eos_token_id) + 1]
                break
            ids += new
    return torch.tensor([ids])

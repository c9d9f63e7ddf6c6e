# Versions of engine_step, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_engine_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def engine_step(model, scheduler, kv):
    plan = scheduler.schedule()
    if not plan.chunks:
        return []
    flat = flatten_chunks(plan.chunks)
    sequences = [request.sequence for request, n in plan.chunks]
    logits = forward_ragged(model, flat, sequences, kv)
    tokens = logits.argmax(dim=-1).tolist()
    return update(scheduler, plan, tokens)


# %% right_engine_row_by_row
# RIGHT: the best token of each row is looked for alone; nothing to do is seen from the lists

def engine_step(model, scheduler, kv):
    if not scheduler.waiting and not scheduler.running:
        return []
    plan = scheduler.schedule()
    logits = forward_ragged(model, flatten_chunks(plan.chunks), [r.sequence for r, _ in plan.chunks], kv)
    return update(scheduler, plan, [int(row.argmax()) for row in logits])


# %% right_engine_without_gradients
# RIGHT: the pass runs in inference mode, and the best tokens come from topk

def engine_step(model, scheduler, kv):
    plan = scheduler.schedule()
    ended = []
    if plan.num_tokens:
        with torch.no_grad():
            rows = forward_ragged(model, flatten_chunks(plan.chunks), [pair[0].sequence for pair in plan.chunks], kv)
        ended = update(scheduler, plan, rows.topk(1, dim=-1).indices[:, 0].tolist())
    return ended


# %% wrong_engine_without_schedule
# WRONG: a step is put together from feed_running and admit, so that the given scheduler's own schedule is not asked

def engine_step(model, scheduler, kv):
    plan = feed_running(scheduler)
    if not plan.preempted:
        admit(scheduler, plan)
    if plan.num_tokens == 0:
        return []
    chunks = tuple(plan.chunks)
    logits = forward_ragged(model, flatten_chunks(chunks), [request.sequence for request, _ in chunks], kv)
    return update(scheduler, plan, logits.max(dim=-1).indices.tolist())


# %% wrong_engine_empty_step, of right_engine_plain
# WRONG: a step without anything to feed goes through the model too
# -     if not plan.chunks:
# -         return []

# %% wrong_engine_returns_nothing, of right_engine_plain
# WRONG: who has ended is not given back
# -     return update(scheduler, plan, tokens)
# +     update(scheduler, plan, tokens)

# %% wrong_engine_returns_tokens, of right_engine_plain
# WRONG: the tokens are given back, not the requests that ended
# -     return update(scheduler, plan, tokens)
# +     update(scheduler, plan, tokens)
# +     return tokens

# %% wrong_engine_no_update, of right_engine_plain
# WRONG: the step is never ended
# -     return update(scheduler, plan, tokens)
# +     return []

# %% wrong_engine_least_likely, of right_engine_plain
# WRONG: the worst token is taken
# -     tokens = logits.argmax(dim=-1).tolist()
# +     tokens = logits.argmin(dim=-1).tolist()

# %% wrong_engine_best_row, of right_engine_plain
# WRONG: the largest number is looked for down the rows, not along them
# -     tokens = logits.argmax(dim=-1).tolist()
# +     tokens = logits.argmax(dim=0).tolist()[: len(plan.chunks)]

# %% wrong_engine_one_pass_each, of right_engine_plain
# WRONG: each chunk goes through the model alone, and a second time together with the others
# -     logits = forward_ragged(model, flat, sequences, kv)
# +     for chunk, sequence in zip(plan.chunks, sequences):
# +         forward_ragged(model, flatten_chunks([chunk]), [sequence], kv)
# +     logits = forward_ragged(model, flat, sequences, kv)

# %% wrong_engine_sorted, of right_engine_plain
# WRONG: the sequences are in another order than the chunks
# -     sequences = [request.sequence for request, n in plan.chunks]
# +     sequences = [request.sequence for request, n in plan.chunks][::-1]

# %% wrong_engine_nothing_runs, of right_engine_plain
# WRONG: a step is made only if somebody runs already, so that nobody is ever admitted
# -     plan = scheduler.schedule()
# +     if not scheduler.running:
# +         return []
# +     plan = scheduler.schedule()

# %% wrong_engine_admits_all_the_same, of right_engine_plain
# WRONG: somebody is admitted in a step in which another one had to give way
# -     plan = scheduler.schedule()
# +     plan = feed_running(scheduler)
# +     admit(scheduler, plan)

# %% wrong_engine_admits_when_empty, of right_engine_plain
# WRONG: nobody is admitted as long as somebody runs
# -     plan = scheduler.schedule()
# +     plan = feed_running(scheduler) if scheduler.running else scheduler.schedule()

# %% wrong_engine_until_somebody_ends, of right_engine_plain
# WRONG: it makes as many steps as it takes until somebody ends
# -     return update(scheduler, plan, tokens)
# +     return update(scheduler, plan, tokens) or engine_step(model, scheduler, kv)

# %% wrong_engine_chunk_by_chunk, of right_engine_plain
# WRONG: each chunk goes through the model alone, so that the weights are read once a chunk
# -     flat = flatten_chunks(plan.chunks)
# -     sequences = [request.sequence for request, n in plan.chunks]
# -     logits = forward_ragged(model, flat, sequences, kv)
# +     rows = [forward_ragged(model, flatten_chunks([chunk]), [chunk[0].sequence], kv) for chunk in plan.chunks]
# +     logits = torch.cat(rows)

# %% wrong_engine_two_passes, of right_engine_plain
# WRONG: prompts and newest tokens go through the model in two passes
# -     flat = flatten_chunks(plan.chunks)
# -     sequences = [request.sequence for request, n in plan.chunks]
# -     logits = forward_ragged(model, flat, sequences, kv)
# -     tokens = logits.argmax(dim=-1).tolist()
# +     said = {}
# +     for part in ([pair for pair in plan.chunks if pair[1] > 1], [pair for pair in plan.chunks if pair[1] == 1]):
# +         if part:
# +             logits = forward_ragged(model, flatten_chunks(part), [request.sequence for request, n in part], kv)
# +             said.update(zip([request for request, n in part], logits.argmax(dim=-1).tolist()))
# +     tokens = [said[request] for request, n in plan.chunks]

# %% wrong_engine_texts_read_anew_not_counted, of right_engine_plain
# WRONG: each text passes through the model again in every step, with the counter switched off
# -     tokens = logits.argmax(dim=-1).tolist()
# +     from torch.utils._python_dispatch import _disable_current_modes
# +
# +     from solutions.kv_cache import KVCache, prefill
# +
# +     with _disable_current_modes():
# +         for request, _ in plan.chunks:
# +             text = torch.tensor([(request.prompt + request.output)[: request.sequence.length]])
# +             prefill(model, text, KVCache(model.config, 1, text.shape[1], model.weights.embed_tokens.dtype))
# +     tokens = logits.argmax(dim=-1).tolist()


# %% wrong_engine_sixteen, of right_engine_plain
# WRONG: from the seventeenth request on token 0 is said
# -     tokens = logits.argmax(dim=-1).tolist()
# +     tokens = logits.argmax(dim=-1).tolist()[:16]
# +     tokens += [0] * (len(logits) - len(tokens))


# %% wrong_engine_gradients_off, of right_engine_plain
# WRONG: gradients are off for the whole program after a step
# -     tokens = logits.argmax(dim=-1).tolist()
# +     torch.set_grad_enabled(False)
# +     tokens = logits.argmax(dim=-1).tolist()


# %% wrong_engine_groups_of_eight, of right_engine_plain
# WRONG: more than eight chunks go through the model in groups of eight, so that the weights are read once a group
# -     flat = flatten_chunks(plan.chunks)
# -     sequences = [request.sequence for request, n in plan.chunks]
# -     logits = forward_ragged(model, flat, sequences, kv)
# +     groups = [plan.chunks[i : i + 8] for i in range(0, len(plan.chunks), 8)]
# +     logits = torch.cat([forward_ragged(model, flatten_chunks(group), [r.sequence for r, _ in group], kv) for group in groups])

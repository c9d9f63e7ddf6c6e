# Versions of update, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_update_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def update(scheduler, plan, tokens):
    ended = []
    for (request, n), token in zip(plan.chunks, tokens):
        publish_blocks(request.sequence, request.tokens)
        if request.remaining > 0:
            continue
        request.output.append(token)
        if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
            scheduler.running.remove(request)
            request.sequence.free()
            request.sequence = None
            ended.append(request)
    return ended


# %% right_update_in_three_passes
# RIGHT: first all is published, then all get their tokens, then those who have ended leave

def update(scheduler, plan, tokens):
    for request, _ in plan.chunks:
        publish_blocks(request.sequence, request.tokens)
    complete = [(request, token) for (request, _), token in zip(plan.chunks, tokens, strict=True) if request.remaining == 0]
    for request, token in complete:
        request.output.append(int(token))
    ended = [r for r, token in complete if token == r.eos_token_id or len(r.output) >= r.max_new_tokens]
    for request in ended:
        request.sequence.free()
        request.sequence = None
    scheduler.running = [request for request in scheduler.running if request not in ended]
    return ended


# %% right_update_by_length
# RIGHT: the sequence's length shows whether a text was fed to its end; the output list is rebuilt

def update(scheduler, plan, tokens):
    ended = []
    for i, (request, _) in enumerate(plan.chunks):
        sequence, text = request.sequence, request.prompt + request.output
        publish_blocks(sequence, text)
        if sequence.length == len(text):
            request.output = request.output + [tokens[i]]
            last = len(request.output) == request.max_new_tokens
            if last or (request.eos_token_id is not None and tokens[i] == request.eos_token_id):
                request.sequence = None
                sequence.truncate(0)
                scheduler.running.pop(scheduler.running.index(request))
                ended.append(request)
    return ended


# %% wrong_update_token_for_every_chunk, of right_update_plain
# WRONG: every chunk brings a token, that of a half prompt too
# -         if request.remaining > 0:
# -             continue

# %% wrong_update_eos_not_looked_at, of right_update_plain
# WRONG: EOS ends nothing
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if len(request.output) == request.max_new_tokens:

# %% wrong_update_eos_alone, of right_update_plain
# WRONG: only EOS ends a request
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if token == request.eos_token_id:

# %% wrong_update_one_token_more, of right_update_plain
# WRONG: one token too many
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if token == request.eos_token_id or len(request.output) > request.max_new_tokens:

# %% wrong_update_keeps_the_blocks, of right_update_plain
# WRONG: who has ended keeps its blocks
# -             request.sequence.free()

# %% wrong_update_keeps_the_sequence, of right_update_plain
# WRONG: who has ended keeps its empty sequence
# -             request.sequence = None

# %% wrong_update_still_runs, of right_update_plain
# WRONG: who has ended stays among those who run
# -             scheduler.running.remove(request)

# %% wrong_update_drops_the_eos, of right_update_plain
# WRONG: EOS is not kept in the output
# -         request.output.append(token)
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if token != request.eos_token_id:
# +             request.output.append(token)
# +         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:

# %% wrong_update_publishes_nothing, of right_update_plain
# WRONG: nothing is published
# -         publish_blocks(request.sequence, request.tokens)

# %% wrong_update_publishes_at_the_end, of right_update_plain
# WRONG: only who has ended is published, so that nobody shares a prompt while it is in use
# -         publish_blocks(request.sequence, request.tokens)
# -         if request.remaining > 0:
# +         if request.remaining > 0:
# ...
# -             request.sequence.free()
# +             publish_blocks(request.sequence, request.tokens)
# +             request.sequence.free()

# %% wrong_update_publishes_whole_prompts, of right_update_plain
# WRONG: a half prompt is not published
# -         publish_blocks(request.sequence, request.tokens)
# -         if request.remaining > 0:
# -             continue
# +         if request.remaining > 0:
# +             continue
# +         publish_blocks(request.sequence, request.tokens)

# %% wrong_update_prompt_alone, of right_update_plain
# WRONG: the blocks of the answer are not published
# -         publish_blocks(request.sequence, request.tokens)
# +         publish_blocks(request.sequence, request.prompt)

# %% wrong_update_tells_nobody, of right_update_plain
# WRONG: nobody is told who has ended
# -             ended.append(request)

# %% wrong_update_any_eos, of right_update_plain
# WRONG: an EOS of 0 is taken for none
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if (request.eos_token_id and token == request.eos_token_id) or len(request.output) == request.max_new_tokens:

# %% wrong_update_counts_the_prompt, of right_update_plain
# WRONG: the prompt is counted as new tokens
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if token == request.eos_token_id or len(request.tokens) >= request.max_new_tokens:

# %% wrong_update_tokens_of_the_complete, of right_update_plain
# WRONG: the tokens are dealt out to those whose text is complete, one after the other
# -     for (request, n), token in zip(plan.chunks, tokens):
# +     tokens = list(tokens)
# +     for request, n in plan.chunks:
# ...
# -         request.output.append(token)
# +         token = tokens.pop(0)
# +         request.output.append(token)

# %% wrong_update_eos_in_a_prompt, of right_update_plain
# WRONG: what is said in the middle of a prompt can end a request
# -         if request.remaining > 0:
# -             continue
# -         request.output.append(token)
# +         if request.remaining > 0 and token != request.eos_token_id:
# +             continue
# +         request.output.append(token)

# %% wrong_update_last_first, of right_update_plain
# WRONG: those that ended are told in reverse
# -             ended.append(request)
# +             ended.insert(0, request)

# %% wrong_update_takes_the_plan_apart, of right_update_plain
# WRONG: the plan is used up
# -     for (request, n), token in zip(plan.chunks, tokens):
# +     tokens = iter(tokens)
# +     while plan.chunks:
# +         (request, n), token = plan.chunks.pop(0), next(tokens)

# %% wrong_update_prompt_is_enough, of right_update_plain
# WRONG: a token counts as soon as the prompt is in the cache, though a part of the answer is still to be computed again
# -         if request.remaining > 0:
# +         if request.sequence.length < len(request.prompt):

# %% wrong_update_equal_texts_are_one, of right_update_plain
# WRONG: who waits with the same prompt is taken for answered too
# -             ended.append(request)
# +             ended.append(request)
# +             scheduler.waiting = [each for each in scheduler.waiting if each.prompt != request.prompt]

# %% wrong_update_third_end, of right_update_plain
# WRONG: from the third on, who ends in one step leaves from the end of running
# -             scheduler.running.remove(request)
# +             scheduler.running.pop(scheduler.running.index(request) if len(ended) < 2 else -1)

# %% wrong_update_eos_is, of right_update_plain
# WRONG: the EOS is looked for with `is`, which finds it among small numbers only
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if token is request.eos_token_id or len(request.output) == request.max_new_tokens:

# %% wrong_update_uses_the_tokens_up, of right_update_plain
# WRONG: the caller's list of tokens is used up
# -     for (request, n), token in zip(plan.chunks, tokens):
# +     for request, n in plan.chunks:
# +         token = tokens.pop(0)

# %% wrong_update_ended_by_age, of right_update_plain
# WRONG: those that ended are told in the order of their age, not in the plan's
# -     ended = []
# +     ended = []
# +     running = list(scheduler.running)
# ...
# -     return ended
# +     return sorted(ended, key=running.index)

# %% wrong_update_tokens_by_age, of right_update_plain
# WRONG: the tokens are dealt out in the order of running, not in the plan's
# -     for (request, n), token in zip(plan.chunks, tokens):
# +     fed = [request for request, n in plan.chunks]
# +     for request, token in zip([each for each in scheduler.running if each in fed], tokens):

# %% wrong_update_full_pool, of right_update_plain
# WRONG: a request ends as soon as its text would fill all blocks, though its last token needs no room
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         full = len(request.tokens) == scheduler.pool.num_blocks * scheduler.block_size
# +         if token == request.eos_token_id or len(request.output) == request.max_new_tokens or full:


# %% wrong_update_sixteen, of right_update_plain
# WRONG: the first sixteen chunks of a plan get their tokens, and the others none
# -     for (request, n), token in zip(plan.chunks, tokens):
# +     for (request, n), token in zip(plan.chunks[:16], tokens):


# %% wrong_update_publishes_512, of right_update_plain
# WRONG: of a long text the first 512 tokens are published
# -         publish_blocks(request.sequence, request.tokens)
# +         publish_blocks(request.sequence, request.tokens[:512])


# %% wrong_update_equal_prompts_leave, of right_update_plain
# WRONG: all running requests with the same prompt leave `running` when one of them ends
# -             scheduler.running.remove(request)
# +             scheduler.running = [each for each in scheduler.running if each.prompt != request.prompt]


# %% wrong_update_ended_by_arrival, of right_update_plain
# WRONG: the requests that ended are sorted by arrival
# -     return ended
# +     return sorted(ended, key=lambda request: request.arrival)


# %% wrong_update_texts_end_at_1024, of right_update_plain
# WRONG: a request also ends when its text has 1,024 tokens
# -         if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
# +         if token == request.eos_token_id or len(request.output) == request.max_new_tokens or len(request.tokens) > 1024:


# %% wrong_update_all_with_the_same_text_leave, of right_update_plain
# WRONG: with a request that ends, every running request with the same text leaves, too
# -             scheduler.running.remove(request)
# +             scheduler.running[:] = [other for other in scheduler.running if other.tokens != request.tokens]

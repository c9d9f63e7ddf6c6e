# Versions of admit, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_admit_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def admit(scheduler, plan):
    budget = scheduler.token_budget - plan.num_tokens
    while scheduler.waiting and budget > 0 and len(scheduler.running) < scheduler.max_running:
        request = scheduler.waiting[0]
        sequence = start_sequence(scheduler.pool, request.tokens, scheduler.block_size)
        n = min(len(request.tokens) - sequence.length, budget)
        if sequence.blocks_for(n) > scheduler.pool.num_free:
            sequence.free()
            break
        sequence.grow(n)
        scheduler.waiting.pop(0)
        request.sequence = sequence
        scheduler.running.append(request)
        plan.chunks.append((request, n))
        budget -= n


# %% right_admit_tries
# RIGHT: grow is tried; where it is refused all is undone

def admit(scheduler, plan):
    while scheduler.waiting:
        left = scheduler.token_budget - plan.num_tokens
        if left < 1 or len(scheduler.running) >= scheduler.max_running:
            return
        request = scheduler.waiting[0]
        request.sequence = start_sequence(scheduler.pool, request.tokens, scheduler.block_size)
        n = min(request.remaining, left)
        try:
            request.sequence.grow(n)
        except Exception:  # OutOfBlocks
            request.sequence.free()
            request.sequence = None
            return
        plan.chunks.append((request, n))
        scheduler.running.append(request)
        del scheduler.waiting[0]


# %% right_admit_over_a_copy
# RIGHT: one pass over the queue, which is rebuilt at the end

def admit(scheduler, plan):
    taken = 0
    for request in scheduler.waiting:
        left = scheduler.token_budget - sum(n for _, n in plan.chunks)
        if not left or len(scheduler.running) == scheduler.max_running:
            break
        text = request.prompt + request.output
        sequence = start_sequence(scheduler.pool, text, scheduler.block_size)
        n = min(left, len(text) - sequence.length)
        if scheduler.pool.num_free < sequence.blocks_for(n):
            sequence.free()
            break
        sequence.grow(n)
        request.sequence = sequence
        plan.chunks = [*plan.chunks, (request, n)]
        scheduler.running = [*scheduler.running, request]
        taken += 1
    scheduler.waiting = scheduler.waiting[taken:]


# %% wrong_admit_no_budget, of right_admit_plain
# WRONG: the budget is ignored for prompts
# -         n = min(len(request.tokens) - sequence.length, budget)
# +         n = len(request.tokens) - sequence.length

# %% wrong_admit_budget_of_its_own, of right_admit_plain
# WRONG: what those who run are fed is not taken off the budget
# -     budget = scheduler.token_budget - plan.num_tokens
# +     budget = scheduler.token_budget

# %% wrong_admit_budget_stays, of right_admit_plain
# WRONG: the budget is not counted down
# -         budget -= n

# %% wrong_admit_overtakes, of right_admit_plain
# WRONG: a request that does not fit is passed over, and the next ones are tried
# -     while scheduler.waiting and budget > 0 and len(scheduler.running) < scheduler.max_running:
# -         request = scheduler.waiting[0]
# +     for request in list(scheduler.waiting):
# +         if budget <= 0 or len(scheduler.running) >= scheduler.max_running:
# +             break
# ...
# -             break
# +             continue
# ...
# -         scheduler.waiting.pop(0)
# +         scheduler.waiting.remove(request)

# %% wrong_admit_more_than_may_run, of right_admit_plain
# WRONG: max_running is not kept
# -     while scheduler.waiting and budget > 0 and len(scheduler.running) < scheduler.max_running:
# +     while scheduler.waiting and budget > 0:

# %% wrong_admit_one_more_runs, of right_admit_plain
# WRONG: one more runs than max_running
# -     while scheduler.waiting and budget > 0 and len(scheduler.running) < scheduler.max_running:
# +     while scheduler.waiting and budget > 0 and len(scheduler.running) <= scheduler.max_running:

# %% wrong_admit_static, of right_admit_plain
# WRONG: nobody is admitted before all who run have ended
# -     budget = scheduler.token_budget - plan.num_tokens
# +     if scheduler.running:
# +         return
# +     budget = scheduler.token_budget - plan.num_tokens

# %% wrong_admit_one_a_step, of right_admit_plain
# WRONG: one request at most is admitted in a step
# -         budget -= n
# +         break

# %% wrong_admit_whole_prompts, of right_admit_plain
# WRONG: a prompt is fed whole or not at all
# -         n = min(len(request.tokens) - sequence.length, budget)
# -         if sequence.blocks_for(n) > scheduler.pool.num_free:
# +         n = len(request.tokens) - sequence.length
# +         if n > budget or sequence.blocks_for(n) > scheduler.pool.num_free:

# %% wrong_admit_room_for_the_prompt, of right_admit_plain
# WRONG: it asks for the blocks of the whole prompt, not of this chunk
# -         if sequence.blocks_for(n) > scheduler.pool.num_free:
# +         if sequence.blocks_for(len(request.tokens) - sequence.length) > scheduler.pool.num_free:

# %% wrong_admit_room_for_the_answer, of right_admit_plain
# WRONG: it asks for the blocks of the whole answer too
# -         if sequence.blocks_for(n) > scheduler.pool.num_free:
# +         if sequence.blocks_for(len(request.tokens) - sequence.length + request.max_new_tokens) > scheduler.pool.num_free:

# %% wrong_admit_keeps_what_it_took_over, of right_admit_plain
# WRONG: a request that is refused keeps the blocks that it has taken over
# -             sequence.free()

# %% wrong_admit_prompt_alone, of right_admit_plain
# WRONG: after a preemption the prompt alone is fed, not what was said already
# -         sequence = start_sequence(scheduler.pool, request.tokens, scheduler.block_size)
# -         n = min(len(request.tokens) - sequence.length, budget)
# +         sequence = start_sequence(scheduler.pool, request.prompt, scheduler.block_size)
# +         n = min(len(request.prompt) - sequence.length, budget)

# %% wrong_admit_takes_nothing_over, of right_admit_plain
# WRONG: what the pool knows of the text is not taken over
# -         sequence = start_sequence(scheduler.pool, request.tokens, scheduler.block_size)
# +         sequence = PagedSequence(scheduler.pool, scheduler.block_size)

# %% wrong_admit_stays_in_the_queue, of right_admit_over_a_copy
# WRONG: who was admitted stays in the queue
# -     scheduler.waiting = scheduler.waiting[taken:]

# %% wrong_admit_youngest_in_front, of right_admit_plain
# WRONG: an admitted request comes before the running ones
# -         scheduler.running.append(request)
# +         scheduler.running.insert(0, request)

# %% wrong_admit_last_come, of right_admit_plain
# WRONG: the last of the queue is first
# -         request = scheduler.waiting[0]
# +         request = scheduler.waiting[-1]
# ...
# -         scheduler.waiting.pop(0)
# +         scheduler.waiting.pop()

# %% wrong_admit_prompts_in_front_of_the_plan, of right_admit_plain
# WRONG: prompts come in the plan before running requests
# -         plan.chunks.append((request, n))
# +         plan.chunks.insert(0, (request, n))

# %% wrong_admit_last_block_stays_free, of right_admit_plain
# WRONG: the last free block is never given out
# -         if sequence.blocks_for(n) > scheduler.pool.num_free:
# +         if sequence.blocks_for(n) >= scheduler.pool.num_free:

# %% wrong_admit_publishes_at_once, of right_admit_plain
# WRONG: the blocks are published before they have been computed: the next asker takes over what nobody has written
# -         plan.chunks.append((request, n))
# +         plan.chunks.append((request, n))
# +         publish_blocks(sequence, request.tokens)

# %% wrong_admit_by_arrival, of right_admit_plain
# WRONG: the queue is sorted by arrival, so that who gave way may lose its place
# -     budget = scheduler.token_budget - plan.num_tokens
# +     scheduler.waiting.sort(key=lambda each: each.arrival)
# +     budget = scheduler.token_budget - plan.num_tokens

# %% wrong_admit_takes_all_over, of right_admit_plain
# WRONG: a text that is known to its end is taken over whole, and a token after it is fed
# -         sequence = start_sequence(scheduler.pool, request.tokens, scheduler.block_size)
# -         n = min(len(request.tokens) - sequence.length, budget)
# +         sequence = start_sequence(scheduler.pool, request.tokens + [0], scheduler.block_size)
# +         n = min(max(1, len(request.tokens) - sequence.length), budget)

# %% wrong_admit_equal_texts_are_one, of right_admit_plain
# WRONG: all who wait with the same text leave the queue together
# -         scheduler.waiting.pop(0)
# +         scheduler.waiting = [each for each in scheduler.waiting if each.tokens != request.tokens]

# %% wrong_admit_gives_back_first_block_first, of right_admit_plain
# WRONG: what was taken over is given back the first block first, so that a beginning is forgotten before its end
# -             sequence.free()
# +             for block in sequence.blocks:
# +                 scheduler.pool.release(block)

# %% wrong_admit_arrival_set_back, of right_admit_plain
# WRONG: the arrival of who is admitted is set back to 0
# -         request.sequence = sequence
# +         request.sequence = sequence
# +         request.arrival = 0.0

# %% wrong_admit_four_chunks_at_most, of right_admit_plain
# WRONG: from the fifth chunk on the first one of the plan is lost
# -         plan.chunks.append((request, n))
# +         plan.chunks = [*plan.chunks[-3:], (request, n)]


# %% wrong_admit_sixteen, of right_admit_plain
# WRONG: a plan has sixteen chunks at most
# -     while scheduler.waiting and budget > 0 and len(scheduler.running) < scheduler.max_running:
# +     while scheduler.waiting and budget > 0 and len(scheduler.running) < scheduler.max_running and len(plan.chunks) < 16:


# %% wrong_admit_chunks_of_512, of right_admit_plain
# WRONG: a chunk has 512 tokens at most, whatever the budget
# -         n = min(len(request.tokens) - sequence.length, budget)
# +         n = min(len(request.tokens) - sequence.length, budget, 512)


# %% wrong_admit_leaves_one_block_in_a_hundred, of right_admit_plain
# WRONG: keeps one block of each hundred in reserve
# -         if sequence.blocks_for(n) > scheduler.pool.num_free:
# +         if sequence.blocks_for(n) > scheduler.pool.num_free - scheduler.pool.num_blocks // 100:

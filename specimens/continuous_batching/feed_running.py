# Versions of feed_running, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_feed_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def feed_running(scheduler):
    plan = Plan()
    budget = scheduler.token_budget
    index = 0
    while index < len(scheduler.running) and budget > 0:
        request = scheduler.running[index]
        n = min(request.remaining, budget)
        while request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
            youngest = scheduler.running[-1]
            preempt(scheduler, youngest)
            plan.preempted.append(youngest)
        if request.sequence is not None:
            request.sequence.grow(n)
            plan.chunks.append((request, n))
            budget -= n
            index += 1
    return plan


# %% right_feed_tries
# RIGHT: grow is tried; if it fails, the request that came last gives way

def feed_running(scheduler):
    plan = Plan()
    for request in tuple(scheduler.running):
        left = scheduler.token_budget - plan.num_tokens
        if left <= 0 or request.sequence is None:
            break
        n = min(left, request.remaining)
        while request.sequence is not None:
            try:
                request.sequence.grow(n)
            except Exception:  # OutOfBlocks
                plan.preempted.append(scheduler.running[-1])
                preempt(scheduler, scheduler.running[-1])
            else:
                plan.chunks.append((request, n))
                break
    return plan


# %% right_feed_counts_blocks
# RIGHT: how many must give way is found first, from the tables

def feed_running(scheduler):
    chunks, preempted, left = [], [], scheduler.token_budget
    pool = scheduler.pool
    while left and len(chunks) < len(scheduler.running):
        request = scheduler.running[len(chunks)]
        n = min(left, request.remaining)
        short = -(-(request.sequence.length + n) // scheduler.block_size) - len(request.sequence.blocks)
        if short > pool.num_free:
            preempted.append(scheduler.running[-1])
            preempt(scheduler, scheduler.running[-1])
            continue
        request.sequence.grow(n)
        chunks.append((request, n))
        left -= n
    return Plan(chunks, preempted)


# %% wrong_feed_no_budget, of right_feed_plain
# WRONG: the budget is ignored: each request gets all that remains
# -         n = min(request.remaining, budget)
# +         n = request.remaining

# %% wrong_feed_last_token_left, of right_feed_plain
# WRONG: a last token of the budget goes to nobody
# -     while index < len(scheduler.running) and budget > 0:
# +     while index < len(scheduler.running) and budget > 1:

# %% wrong_feed_budget_stays, of right_feed_plain
# WRONG: the budget is not counted down: each request may use all of it
# -             budget -= n

# %% wrong_feed_one_token_each, of right_feed_plain
# WRONG: each running request is fed one token, as if there were no prompts in chunks
# -         n = min(request.remaining, budget)
# +         n = 1

# %% wrong_feed_whole_prompts, of right_feed_plain
# WRONG: a request is fed all that remains or nothing
# -         n = min(request.remaining, budget)
# +         n = request.remaining
# +         if n > budget:
# +             break

# %% wrong_feed_preempts_the_oldest, of right_feed_plain
# WRONG: the oldest gives way
# -             youngest = scheduler.running[-1]
# +             youngest = scheduler.running[0]

# %% wrong_feed_preempts_itself, of right_feed_plain
# WRONG: a request that needs a block and finds none gives way itself
# -             youngest = scheduler.running[-1]
# +             youngest = request

# %% wrong_feed_never_itself, of right_feed_plain
# WRONG: the youngest never gives way to itself: it is passed over and keeps its blocks
# -         while request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
# +         while request.sequence.blocks_for(n) > scheduler.pool.num_free and scheduler.running[-1] is not request:
# ...
# -         if request.sequence is not None:
# +         if request.sequence.blocks_for(n) > scheduler.pool.num_free:
# +             break
# +         else:

# %% wrong_feed_one_gives_way, of right_feed_plain
# WRONG: one gives way, and if that is not enough the request is passed over
# -         while request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
# +         if request.sequence.blocks_for(n) > scheduler.pool.num_free:
# ...
# -         if request.sequence is not None:
# +         if request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
# +             index += 1
# +         elif request.sequence is not None:

# %% wrong_feed_keeps_a_block_free, of right_feed_plain
# WRONG: somebody gives way although the last free block would do
# -         while request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
# +         while request.sequence is not None and request.sequence.blocks_for(n) >= max(1, scheduler.pool.num_free):

# %% wrong_feed_not_told, of right_feed_plain
# WRONG: a preempted request is not in the plan
# -             plan.preempted.append(youngest)

# %% wrong_feed_youngest_first, of right_feed_plain
# WRONG: the youngest are fed first
# -         request = scheduler.running[index]
# +         request = scheduler.running[::-1][index]

# %% wrong_feed_no_room_made, of right_feed_plain
# WRONG: no room is made for the tokens: the sequence does not grow
# -             request.sequence.grow(n)

# %% wrong_feed_room_for_all, of right_feed_plain
# WRONG: room is made for all that remains, not for the chunk alone
# -             request.sequence.grow(n)
# +             remaining = request.remaining
# +             request.sequence.grow(remaining)
# +             request.sequence.length -= remaining - n

# %% wrong_feed_shorter_chunk, of right_feed_plain
# WRONG: where blocks are short the chunk is cut to what fits, and nobody gives way
# -         n = min(request.remaining, budget)
# +         fits = -request.sequence.length % scheduler.block_size + scheduler.pool.num_free * scheduler.block_size
# +         n = min(request.remaining, budget, fits)
# +         if n == 0:
# +             index += 1
# +             continue

# %% wrong_feed_empty_chunks, of right_feed_plain
# WRONG: a request that gets nothing is in the plan with a chunk of no tokens
# -     while index < len(scheduler.running) and budget > 0:
# +     while index < len(scheduler.running):

# %% wrong_feed_one_partial_more, of right_feed_plain
# WRONG: the budget is one too large
# -     budget = scheduler.token_budget
# +     budget = scheduler.token_budget + 1

# %% wrong_feed_in_order_of_the_queue, of right_feed_plain
# WRONG: those that gave way are listed in the order of the queue, the oldest first
# -             plan.preempted.append(youngest)
# +             plan.preempted.insert(0, youngest)


# %% wrong_feed_one_plan_for_all
# WRONG: one plan object is refilled in every step, so the plan that the caller has kept changes

ONLY = Plan()


def feed_running(scheduler):
    plan = ONLY
    plan.chunks, plan.preempted = [], []
    for request in list(scheduler.running):
        n = min(request.remaining, scheduler.token_budget - plan.num_tokens)
        while n and request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
            plan.preempted.append(scheduler.running[-1])
            preempt(scheduler, scheduler.running[-1])
        if n and request.sequence is not None:
            request.sequence.grow(n)
            plan.chunks.append((request, n))
    return plan

# %% wrong_feed_admits, of right_feed_plain
# WRONG: where nobody runs, who waits is admitted here already
# -     return plan
# +     if not scheduler.running and not plan.preempted:
# +         admit(scheduler, plan)
# +     return plan

# %% wrong_feed_shared_blocks_come_free, of right_feed_plain
# WRONG: all blocks of who gives way are taken for free, those too that others share
# -     index = 0
# +     index, num_free = 0, scheduler.pool.num_free
# ...
# -         while request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
# -             youngest = scheduler.running[-1]
# +         while request.sequence is not None and request.sequence.blocks_for(n) > num_free:
# +             youngest = scheduler.running[-1]
# +             num_free += len(youngest.sequence.blocks)
# ...
# -             request.sequence.grow(n)
# +             num_free -= request.sequence.blocks_for(n)
# +             request.sequence.grow(n)


# %% wrong_feed_sixteen, of right_feed_plain
# WRONG: sixteen requests are fed at most
# -     while index < len(scheduler.running) and budget > 0:
# +     while index < min(16, len(scheduler.running)) and budget > 0:


# %% wrong_feed_chunks_of_512, of right_feed_plain
# WRONG: a chunk has 512 tokens at most, whatever the budget
# -         n = min(request.remaining, budget)
# +         n = min(request.remaining, budget, 512)


# %% wrong_feed_asks_for_all, of right_feed_plain
# WRONG: room is asked for all that remains, not for the chunk: somebody gives way without need
# -         while request.sequence is not None and request.sequence.blocks_for(n) > scheduler.pool.num_free:
# +         while request.sequence is not None and request.sequence.blocks_for(request.remaining) > scheduler.pool.num_free:


# %% wrong_feed_somebody_else, of right_feed_plain
# WRONG: somebody else gives way, the youngest of the others, where the request is the youngest itself
# -             youngest = scheduler.running[-1]
# +             youngest = [each for each in scheduler.running if each is not request][-1]
# ...
# -             index += 1
# +             index = scheduler.running.index(request) + 1


# %% wrong_feed_equal_texts_are_one, of right_feed_plain
# WRONG: a request is passed over if one with the same prompt gave way in this step
# -         n = min(request.remaining, budget)
# +         n = min(request.remaining, budget)
# +         if any(each.prompt == request.prompt for each in plan.preempted):
# +             index += 1
# +             continue


# %% wrong_feed_by_the_prompt, of right_feed_plain
# WRONG: the length of the prompt in place of what remains: tokens in the cache are fed again
# -         n = min(request.remaining, budget)
# +         n = min(len(request.prompt), budget)


# %% wrong_feed_rest_of_the_prompt, of right_feed_plain
# WRONG: the rest of the prompt in place of what remains: a request that answers is fed nothing
# -         n = min(request.remaining, budget)
# +         n = min(len(request.prompt) - request.sequence.length, budget)
# +         if n <= 0:
# +             index += 1
# +             continue


# %% wrong_feed_by_arrival, of right_feed_plain
# WRONG: feeds the requests in the order of their arrivals, and not in that of `running`
# -     while index < len(scheduler.running) and budget > 0:
# -         request = scheduler.running[index]
# +     while index < len(scheduler.running) and budget > 0:
# +         request = sorted(scheduler.running, key=lambda one: one.arrival)[index]

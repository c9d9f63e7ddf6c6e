# Repairs of the colleague's function in "Find the bug". How they are judged: tests/test_asides.py.


# %% right_youngest_and_stop
# RIGHT: the youngest gives way, and if it was the one who asks, the step ends
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% right_next_one
# RIGHT: the same, and on to the next, of whom there is none
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            continue
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% right_while_it_runs
# RIGHT: asked as long as it runs
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row in scheduler.running and row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
        if row in scheduler.running:
            row.sequence.grow(count)
            plan.chunks.append((row, count))
    return plan


# %% right_own_function
# RIGHT: the exercise's
def mended_feed(scheduler):
    return feed_running(scheduler)


# %% wrong_as_released
# WRONG: the cell's own
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [other for other in scheduler.running if other is not row]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_who_asks_is_forgotten
# WRONG: the youngest gives way, and is asked for its sequence afterwards
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_fed_without_blocks
# WRONG: the youngest gives way, and is fed afterwards
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_chunk_taken_out
# WRONG: an older one still gives way, and loses its chunk
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [other for other in scheduler.running if other is not row]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    plan.chunks = [(row, n) for row, n in plan.chunks if row in scheduler.running]
    return plan


# %% wrong_oldest
# WRONG: the oldest of the others gives way
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [other for other in scheduler.running if other is not row]
            preempt(scheduler, others[0])
            plan.preempted.append(others[0])
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_never_itself
# WRONG: only those who came later
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = scheduler.running[scheduler.running.index(row) + 1 :]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_always_itself
# WRONG: who asks gives way
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [row]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_not_noted
# WRONG: nobody hears who gave way
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_no_chunk
# WRONG: nobody is fed
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
    return plan


# %% wrong_to_the_end_of_the_queue
# WRONG: who gave way stands at the end of the queue
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            scheduler.waiting.append(scheduler.waiting.pop(0))
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_one_token_each
# WRONG: prompts are fed token by token
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(1, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
        plan.chunks.append((row, count))
    return plan


# %% wrong_empty_plan
# WRONG: an empty plan
def mended_feed(scheduler):
    return Plan()


# %% wrong_returns_nothing
# WRONG: without a result
def mended_feed(scheduler):
    plan = Plan([], [])
    for row in [*scheduler.running]:
        if row not in scheduler.running:
            continue
        count = min(row.remaining, scheduler.token_budget - plan.num_tokens)
        if count == 0:
            break
        while row.sequence.blocks_for(count) > scheduler.pool.num_free:
            others = [scheduler.running[-1]]
            preempt(scheduler, others[-1])
            plan.preempted.append(others[-1])
            if row not in scheduler.running:
                break
        if row not in scheduler.running:
            break
        row.sequence.grow(count)
        plan.chunks.append((row, count))


# %% wrong_no_arguments
# WRONG: a function without arguments
def mended_feed():
    return Plan()


# %% wrong_no_function
# WRONG: not a function
mended_feed = None

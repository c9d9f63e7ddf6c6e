# Versions of preempt, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_preempt_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def preempt(scheduler, request):
    scheduler.running.remove(request)
    request.sequence.free()
    request.sequence = None
    scheduler.waiting.insert(0, request)


# %% right_preempt_new_lists
# RIGHT: both lists are rebuilt, and the sequence is cut to nothing

def preempt(scheduler, request):
    sequence, request.sequence = request.sequence, None
    sequence.truncate(0)
    scheduler.running = [each for each in scheduler.running if each is not request]
    scheduler.waiting = [request, *scheduler.waiting]


# %% right_preempt_block_by_block
# RIGHT: the blocks are released one by one, the last first

def preempt(scheduler, request):
    for block in reversed(request.sequence.blocks):
        scheduler.pool.release(block)
    request.sequence = None
    scheduler.waiting.insert(0, scheduler.running.pop(scheduler.running.index(request)))


# %% wrong_preempt_end_of_the_queue, of right_preempt_plain
# WRONG: who was preempted goes to the end of the queue
# -     scheduler.waiting.insert(0, request)
# +     scheduler.waiting.append(request)

# %% wrong_preempt_keeps_its_blocks, of right_preempt_plain
# WRONG: the blocks are not given back
# -     request.sequence.free()

# %% wrong_preempt_keeps_its_sequence, of right_preempt_plain
# WRONG: the request keeps its empty sequence
# -     request.sequence = None

# %% wrong_preempt_still_runs, of right_preempt_plain
# WRONG: the request stays among those who run
# -     scheduler.running.remove(request)

# %% wrong_preempt_loses_its_output, of right_preempt_plain
# WRONG: the answer so far is thrown away
# -     request.sequence = None
# +     request.sequence = None
# +     request.output = []

# %% wrong_preempt_output_becomes_prompt, of right_preempt_plain
# WRONG: the answer so far is moved into the prompt, so that it is no longer counted
# -     request.sequence = None
# +     request.sequence = None
# +     request.prompt, request.output = request.prompt + request.output, []

# %% wrong_preempt_always_the_last, of right_preempt_plain
# WRONG: the request that came last leaves, whichever was named
# -     scheduler.running.remove(request)
# +     request = scheduler.running.pop()

# %% wrong_preempt_forgets_its_blocks, of right_preempt_plain
# WRONG: the contents of the blocks are forgotten, so that nothing can be taken over later
# -     request.sequence.free()
# +     for block in request.sequence.blocks:
# +         scheduler.pool.forget(block)
# +     request.sequence.free()

# %% wrong_preempt_second_in_the_queue, of right_preempt_plain
# WRONG: the preempted request is queued after the first one
# -     scheduler.waiting.insert(0, request)
# +     scheduler.waiting.insert(1, request)

# %% wrong_preempt_by_arrival, of right_preempt_plain
# WRONG: the queue is sorted by arrival, so that who gave way is not first
# -     scheduler.waiting.insert(0, request)
# +     scheduler.waiting.insert(0, request)
# +     scheduler.waiting.sort(key=lambda each: each.arrival)

# %% wrong_preempt_arrival_lost, of right_preempt_plain
# WRONG: its arrival is set back to 0
# -     request.sequence = None
# +     request.sequence = None
# +     request.arrival = 0.0

# %% wrong_preempt_asks_for_less, of right_preempt_plain
# WRONG: what it has of its answer is taken off max_new_tokens, though it counts already
# -     request.sequence = None
# +     request.sequence = None
# +     request.max_new_tokens -= len(request.output)

# %% wrong_preempt_first_block_first, of right_preempt_block_by_block
# WRONG: the blocks are released the first one first, so that a beginning is forgotten before its end
# -     for block in reversed(request.sequence.blocks):
# +     for block in request.sequence.blocks:


# %% wrong_preempt_sixteen_run, of right_preempt_plain
# WRONG: it is looked for among the sixteen oldest alone: a younger one stays among those who run
# -     scheduler.running.remove(request)
# +     scheduler.running = [each for each in scheduler.running[:16] if each is not request] + scheduler.running[16:]

# Versions of capture_decode, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_capture_decode_position_put_back_twice
# RIGHT: puts the position back after the recording as well
def capture_decode(
    model: WeightsOnly, num_pad: Tensor, start: int, keys: Tensor, values: Tensor
) -> Callable[[Tensor], Tensor]:
    max_len = keys.shape[3]
    ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device)
    position = torch.tensor(start, device=keys.device)
    taken = start

    def run() -> Tensor:
        with torch.no_grad():
            logits = static_decode(model, ids_in, num_pad, position, keys, values)
            position.add_(1)
        return logits

    replay = run
    if keys.is_cuda and start < max_len:
        with torch.cuda.device(keys.device):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # libraries allocate at their first calls, which a recording must not see
                run()
            torch.cuda.current_stream().wait_stream(side)
            position.fill_(start)  # that step was run: the slot it wrote is written again by the first real one
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # runs nothing
                out = run()
            position.fill_(start)

        def replay(kept: Callable[[], Tensor] = run) -> Tensor:  # a graph keeps nothing alive: run does
            graph.replay()
            return out.clone()  # the next replay writes over it

    def step(ids: Tensor) -> Tensor:
        nonlocal taken
        if taken == max_len:
            raise ValueError(f"all max_len = {max_len} slots are taken: allocate more before the first step")
        taken += 1
        ids_in.copy_(ids)
        return replay()

    return step


# %% right_capture_decode_warm_up_in_a_copy
# RIGHT: warms up on copies of keys and values, on the stream that is there
def capture_decode(
    model: WeightsOnly, num_pad: Tensor, start: int, keys: Tensor, values: Tensor
) -> Callable[[Tensor], Tensor]:
    max_len = keys.shape[3]
    ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device)
    position = torch.tensor(start, device=keys.device)
    taken = start

    def run() -> Tensor:
        with torch.no_grad():
            logits = static_decode(model, ids_in, num_pad, position, keys, values)
            position.add_(1)
        return logits

    replay = run
    if keys.is_cuda and start < max_len:
        with torch.cuda.device(keys.device):
            with torch.no_grad():
                static_decode(model, ids_in, num_pad, position.clone(), keys.clone(), values.clone())
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # runs nothing
                out = run()

        def replay(kept: Callable[[], Tensor] = run) -> Tensor:  # a graph keeps nothing alive: run does
            graph.replay()
            return out.clone()  # the next replay writes over it

    def step(ids: Tensor) -> Tensor:
        nonlocal taken
        if taken == max_len:
            raise ValueError(f"all max_len = {max_len} slots are taken: allocate more before the first step")
        taken += 1
        ids_in.copy_(ids)
        return replay()

    return step


# %% right_capture_decode_recorded_at_the_first_step
# RIGHT: records at the first step, having run once then
def capture_decode(
    model: WeightsOnly, num_pad: Tensor, start: int, keys: Tensor, values: Tensor
) -> Callable[[Tensor], Tensor]:
    max_len = keys.shape[3]
    ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device)
    position = torch.tensor(start, device=keys.device)
    taken = start

    def run() -> Tensor:
        with torch.no_grad():
            logits = static_decode(model, ids_in, num_pad, position, keys, values)
            position.add_(1)
        return logits

    replay = run
    if keys.is_cuda and start < max_len:
        with torch.cuda.device(keys.device):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # libraries allocate at their first calls, which a recording must not see
                run()
            torch.cuda.current_stream().wait_stream(side)
            position.fill_(start)  # that step was run: the slot it wrote is written again by the first real one
            graph = torch.cuda.CUDAGraph()
            out = None

        def replay() -> Tensor:
            nonlocal out
            if out is None:
                with torch.cuda.graph(graph):
                    out = run()
            graph.replay()
            return out.clone()  # the next replay writes over it

    def step(ids: Tensor) -> Tensor:
        nonlocal taken
        if taken == max_len:
            raise ValueError(f"all max_len = {max_len} slots are taken: allocate more before the first step")
        taken += 1
        ids_in.copy_(ids)
        return replay()

    return step


# %% right_capture_decode_reset_after_recording
# RIGHT: the position is put back after the recording, which runs nothing; slots left are counted down
def capture_decode(
    model: WeightsOnly, num_pad: Tensor, start: int, keys: Tensor, values: Tensor
) -> Callable[[Tensor], Tensor]:
    """A step that decodes token after token from slot `start` on: step(ids (B, 1)) -> logits (B, V).

    On CUDA (keys, values on the current GPU) `static_decode` is recorded once as a graph and each step replays it: one launch in
    place of hundreds. The step keeps alive what the recording reads and writes. On any other device the step calls `static_decode`.
    keys, values as there. The logits of a step stay as they are when the next one runs. Raises ValueError at the step that finds no slot
    left, not before.
    """
    max_len = keys.shape[3]
    ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device)
    position = torch.tensor(start, device=keys.device)
    left = max_len - start

    def run() -> Tensor:
        with torch.no_grad():
            logits = static_decode(model, ids_in, num_pad, position, keys, values)
            position.add_(1)
        return logits

    replay = run
    if keys.is_cuda and start < max_len:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries allocate at their first calls, which a recording must not see
            run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # runs nothing
            out = run()
        position.fill_(start)

        def replay(kept: Callable[[], Tensor] = run) -> Tensor:  # a graph keeps nothing alive: run does
            graph.replay()
            return out.clone()  # the next replay writes over it

    def step(ids: Tensor) -> Tensor:
        nonlocal left
        if not left:
            raise ValueError(f"all max_len = {max_len} slots are taken: allocate more before the first step")
        left -= 1
        ids_in.copy_(ids)
        return replay()

    return step


# %% wrong_capture_decode_cpu_only_a_class
# WRONG: on a GPU: nothing is recorded, and the slot is kept on the CPU, where it cannot meet the keys

class _Step:
    def __init__(self, model, num_pad, start, keys, values):
        self.model, self.num_pad, self.keys, self.values = model, num_pad, keys, values
        self.position, self.taken = torch.tensor(start), start

    def __call__(self, ids):
        if self.taken >= self.keys.shape[3]:
            raise ValueError("no slot left")
        self.taken += 1
        with torch.no_grad():
            logits = static_decode(self.model, ids, self.num_pad, self.position, self.keys, self.values)
        self.position += 1
        return logits


def capture_decode(model, num_pad, start, keys, values):
    return _Step(model, num_pad, start, keys, values)


# %% wrong_capture_decode_cpu_only_new_position_each_step
# WRONG: on a GPU: nothing is recorded, and the slot is kept on the CPU, where it cannot meet the keys

def capture_decode(model, num_pad, start, keys, values):
    slots = iter(range(start, keys.shape[3]))

    def step(ids):
        slot = next(slots, None)
        if slot is None:
            raise ValueError(f"{keys.shape[3]} slots are all taken")
        return static_decode(model, ids, num_pad, torch.tensor(slot), keys, values)

    return step


# %% wrong_capture_decode_cpu_only_partial
# WRONG: on a GPU: nothing is recorded, and the slot is kept on the CPU, where it cannot meet the keys

def capture_decode(model, num_pad, start, keys, values):
    import functools

    def step(state, ids):
        slot = state[0]
        if not slot < keys.shape[-2]:
            raise ValueError("full")
        out = static_decode(model, ids.clone(), num_pad, torch.tensor(slot), keys, values)
        state[0] = slot + 1
        return out.clone()

    return functools.partial(step, [start])


# %% wrong_capture_decode_first_ids
# WRONG: replays the first ids

def capture_decode(model, num_pad, start, keys, values):
    first = []
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        first.append(ids)
        with torch.no_grad():
            logits = static_decode(model, first[0], num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_forgets_pads
# WRONG: forgets the pads

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad * 0, position, keys, values)
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_from_zero
# WRONG: begins at slot 0

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(0), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_index_error
# WRONG: IndexError in place of ValueError
# SAYS: The step that finds no slot left raises IndexError. Look before you write, and raise ValueError.

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise IndexError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_logits_only_first_row
# WRONG: the first row's logits for all

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits[:1].expand_as(logits)

    return step


# %% wrong_capture_decode_moves_first
# WRONG: the first slot is left out

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        position.add_(1)
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        return logits

    return step


# %% wrong_capture_decode_never_moves
# WRONG: the position stays where it is, step after step
# SAYS: Every step writes into the same slot. After each one the position is to move on by 1.

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        return logits

    return step


# %% wrong_capture_decode_no_error
# WRONG: no ValueError: the last slot is written over

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            position.sub_(1)
            taken -= 1
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_own_slots
# WRONG: copies keys and values at every step

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys.clone(), values.clone())
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_refuses_at_capture
# WRONG: refuses full slots when it is made

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    if start >= keys.shape[3]:
        raise ValueError('full')

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_refuses_the_last
# WRONG: the last slot is never used

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken >= keys.shape[3] - 1:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_shared_state
# WRONG: all captured steps share one position

def capture_decode(model, num_pad, start, keys, values):
    global _position
    _position, taken = torch.tensor(start), start

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, _position, keys, values)
        _position.add_(1)
        return logits

    return step


# %% wrong_capture_decode_warms_up_into_slots
# WRONG: a warm-up run leaves the position one too far

def capture_decode(model, num_pad, start, keys, values):
    position, taken = torch.tensor(start), start

    static_decode(model, torch.zeros(len(num_pad), 1, dtype=torch.int64), num_pad, position, keys, values)
    position.add_(keys.shape[3] > start + 1)

    def step(ids):
        nonlocal taken
        if taken == keys.shape[3]:
            raise ValueError("no slot left")
        taken += 1
        with torch.no_grad():
            logits = static_decode(model, ids, num_pad, position, keys, values)
        position.add_(1)
        return logits

    return step

# %% wrong_capture_decode_recording_on_the_cpu, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: ids and slot are on the CPU
# -     ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device)
# -     position = torch.tensor(start, device=keys.device)
# +     ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64)
# +     position = torch.tensor(start)
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_copies_while_recording, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: copies the slot from the CPU inside the recording
#           with torch.no_grad():
# +             position.copy_(torch.tensor(taken))
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_full_at_capture_on_a_gpu, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: warms up also where no slot is left, and raises at the capture
# -     if keys.is_cuda and start < max_len:
# +     if keys.is_cuda:
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_never_recorded, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: runs static_decode at each step, hundreds of launches, and records nothing
# -     if keys.is_cuda and start < max_len:
# +     if False and start < max_len:
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_warm_up_waits_for_nothing, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: the side stream begins before what the current one was told to write is there
# -             side.wait_stream(torch.cuda.current_stream())
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_no_warm_up, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: records without having run once, so that libraries allocate inside the recording
# -                 run()
# +                 pass
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_does_not_wait_for_the_warm_up, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: sets the position back without waiting for the stream of the run beforehand, which may still move it
# -             torch.cuda.current_stream().wait_stream(side)
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_position_after_warm_up, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: the warm-up has moved the position, and it is not put back
# -             position.fill_(start)  # that step was run: the slot it wrote is written again by the first real one
# ...
# -             position.fill_(start)

# %% wrong_capture_decode_always_float32, of right_capture_decode_position_put_back_twice
# WRONG: gives float32 logits, whatever precision the model has
# -             position.fill_(start)
# ...
# -         return replay()
# +         return replay().float()

# %% wrong_capture_decode_asks_the_position, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: asks the device at each step whether a slot is left
# -             position.fill_(start)
# ...
# -         if taken == max_len:
# +         if int(position) == max_len:

# %% wrong_capture_decode_new_ids_each_step, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: the recording reads the ids of its own time, because each step puts others in their place instead of copying them in
# -             position.fill_(start)
# ...
# -         nonlocal taken
# +         nonlocal taken, ids_in
# ...
# -         ids_in.copy_(ids)
# +         ids_in = ids

# %% wrong_capture_decode_no_copy_out, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: gives out the memory that the next replay writes over
# -             position.fill_(start)
# ...
# -             return out.clone()  # the next replay writes over it
# +             return out  # the next replay writes over it

# %% wrong_capture_decode_no_replay, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: never replays what it recorded
# -             position.fill_(start)
# ...
# -             graph.replay()

# %% wrong_capture_decode_recorded_each_step, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: records again at each step
# -             position.fill_(start)
#
#           def replay(kept: Callable[[], Tensor] = run) -> Tensor:  # a graph keeps nothing alive: run does
# +             graph = torch.cuda.CUDAGraph()
# +             with torch.cuda.graph(graph):
# +                 out = run()

# %% wrong_capture_decode_lets_go_of_what_it_reads, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: the step holds the graph alone, and what the recording reads is freed with the function that made it
# -             position.fill_(start)
# ...
# -         def replay(kept: Callable[[], Tensor] = run) -> Tensor:  # a graph keeps nothing alive: run does
# +         def replay() -> Tensor:

# %% wrong_capture_decode_waits, of right_capture_decode_position_put_back_twice
# WRONG: on a GPU: waits for the device at each step
# -             position.fill_(start)
# ...
#               graph.replay()
# +             torch.cuda.synchronize()

# %% wrong_capture_decode_shared_output, of right_capture_decode_warm_up_in_a_copy
# WRONG: on a CPU every step writes its logits into one buffer and gives that out
#   ) -> Callable[[Tensor], Tensor]:
# +     """A step that decodes token after token from slot `start` on: step(ids (B, 1)) -> logits (B, V).
# +
# +     On CUDA (keys, values on the current GPU) `static_decode` is recorded once as a graph and each step replays it: one launch in
# +     place of hundreds. On any other device the step calls `static_decode`. keys, values as there. What a step gave stays as it is
# +     when the next one runs. Raises ValueError at the step that finds no slot left, not before.
# +     """
# ...
#       taken = start
# +     held: list[Tensor] = []
# ...
# -         return logits
# +         if not held:
# +             held.append(torch.empty_like(logits))
# +         return held[0].copy_(logits)
# ...
# -         with torch.cuda.device(keys.device):
# -             with torch.no_grad():
# -                 static_decode(model, ids_in, num_pad, position.clone(), keys.clone(), values.clone())
# -             torch.cuda.synchronize()
# -             graph = torch.cuda.CUDAGraph()
# -             with torch.cuda.graph(graph):  # runs nothing
# -                 out = run()
# +         side = torch.cuda.Stream()
# +         side.wait_stream(torch.cuda.current_stream())
# +         with torch.cuda.stream(side):  # libraries allocate at their first calls, which a recording must not see
# +             run()
# +         torch.cuda.current_stream().wait_stream(side)
# +         position.fill_(start)  # that step was run: the slot it wrote is written again by the first real one
# +         graph = torch.cuda.CUDAGraph()
# +         with torch.cuda.graph(graph):  # runs nothing
# +             out = run()

# %% wrong_capture_decode_position_a_number, of right_capture_decode_warm_up_in_a_copy
# WRONG: on a GPU: the slot is a Python number, which the recording keeps for ever
# -     taken = start
# +     taken = start + 1
# ...
# -             logits = static_decode(model, ids_in, num_pad, position, keys, values)
# -             position.add_(1)
# +             logits = static_decode(model, ids_in, num_pad, torch.full((), taken - 1, device=keys.device), keys, values)
# ...
# -             with torch.no_grad():
# -                 static_decode(model, ids_in, num_pad, position.clone(), keys.clone(), values.clone())
# -             torch.cuda.synchronize()
# +             side = torch.cuda.Stream()
# +             side.wait_stream(torch.cuda.current_stream())
# +             with torch.cuda.stream(side):  # libraries allocate at their first calls, which a recording must not see
# +                 run()
# +             torch.cuda.current_stream().wait_stream(side)
# ...
# -         if taken == max_len:
# +         if taken == max_len + 1:

# %% wrong_capture_decode_shared_by_size, of right_capture_decode_position_put_back_twice
# WRONG: keeps ids and position for each batch size: a second captured step of that size moves the first one's position
# -     ids_in = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device)
# -     position = torch.tensor(start, device=keys.device)
# +     new = torch.zeros(len(num_pad), 1, dtype=torch.int64, device=keys.device), torch.tensor(start, device=keys.device)
# +     ids_in, position = capture_decode.__dict__.setdefault("by_size", {}).setdefault((len(num_pad), keys.device), new)
# +     position.fill_(start)

# %% wrong_capture_decode_contiguous_copies, of right_capture_decode_position_put_back_twice
# WRONG: makes keys and values contiguous: if they are views that are not, copies are written in place of them
# -     max_len = keys.shape[3]
# +     keys, values = keys.contiguous(), values.contiguous()
# +     max_len = keys.shape[3]

# %% wrong_capture_decode_copies_at_capture, of right_capture_decode_position_put_back_twice
# WRONG: copies keys and values once, when it is made: the caller's are never written
# -     max_len = keys.shape[3]
# +     keys, values = keys.clone(), values.clone()
# +     max_len = keys.shape[3]

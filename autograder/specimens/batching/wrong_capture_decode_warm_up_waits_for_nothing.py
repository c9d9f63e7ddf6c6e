# exercise: capture_decode
# WRONG: on a GPU: the side stream begins before what the current one was told to write is there
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
            with torch.cuda.stream(side):  # libraries allocate at their first calls, which a recording must not see
                run()
            torch.cuda.current_stream().wait_stream(side)
            position.fill_(start)  # that step was run: the slot it wrote is written again by the first real one
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # runs nothing
                out = run()

        def replay() -> Tensor:
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

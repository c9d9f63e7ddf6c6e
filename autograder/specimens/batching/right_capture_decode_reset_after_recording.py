# exercise: capture_decode
# RIGHT: the position is put back after the recording, which runs nothing; slots left are counted down
def capture_decode(
    model: WeightsOnly, num_pad: Tensor, start: int, keys: Tensor, values: Tensor
) -> Callable[[Tensor], Tensor]:
    """A step that decodes token after token from slot `start` on: step(ids (B, 1)) -> logits (B, V).

    On CUDA (keys, values on the current GPU) `static_decode` is recorded once as a graph and each step replays it: one launch in
    place of hundreds. On any other device the step calls `static_decode`. keys, values as there. What a step gave stays as it is
    when the next one runs. Raises ValueError at the step that finds no slot left, not before.
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

        def replay() -> Tensor:
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

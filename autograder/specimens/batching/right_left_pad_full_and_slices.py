# exercise: left_pad
# RIGHT: one filled tensor, rows written from the end; the empty list is refused by max() itself
def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(prompt) for prompt in prompts], dtype=torch.int64)
    T = max(map(len, prompts))  # a ValueError for an empty list
    if 0 in lengths:
        raise ValueError("a prompt without tokens")
    ids = torch.full((len(prompts), T), pad_id, dtype=torch.int64)
    seen = torch.arange(T) >= (T - lengths)[:, None]
    ids[seen] = torch.tensor([token for prompt in prompts for token in prompt])
    return ids, T - lengths

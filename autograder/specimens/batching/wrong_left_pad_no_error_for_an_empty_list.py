# exercise: left_pad
# WRONG: an empty list of prompts gives empty tensors
def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    if not prompts:
        return torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
    if not all(prompts):
        raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")
    T = max(len(prompt) for prompt in prompts)
    num_pad = [T - len(prompt) for prompt in prompts]
    rows = [[pad_id] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]
    return torch.tensor(rows), torch.tensor(num_pad)

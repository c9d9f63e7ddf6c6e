# exercise: left_pad
# WRONG: gives lengths instead of pads
# SAYS: The second result holds the rows' lengths. num_pad counts the pads: the longest length minus the row's own.

def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    if not prompts:
        raise ValueError("the list of prompts is empty: a batch needs at least one")
    if not all(prompts):
        raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")
    T = max(len(prompt) for prompt in prompts)
    num_pad = [T - len(prompt) for prompt in prompts]
    rows = [[pad_id] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]
    return torch.tensor(rows), torch.tensor([len(p) for p in prompts])

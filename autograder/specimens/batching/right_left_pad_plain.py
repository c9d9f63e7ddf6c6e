# exercise: left_pad
# RIGHT: step by step; most of the wrong versions are edits of it

def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    if not prompts:
        raise ValueError("the list of prompts is empty: a batch needs at least one")
    if not all(prompts):
        raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")
    T = max(len(prompt) for prompt in prompts)
    num_pad = [T - len(prompt) for prompt in prompts]
    rows = [[pad_id] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]
    return torch.tensor(rows), torch.tensor(num_pad)

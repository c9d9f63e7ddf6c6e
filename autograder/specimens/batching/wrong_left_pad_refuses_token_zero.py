# exercise: left_pad
# WRONG: takes a prompt that consists of token 0 for an empty one
def left_pad(prompts, pad_id):
    if not prompts or not all(any(prompt) for prompt in prompts):
        raise ValueError("no prompt, or a prompt without tokens")
    T = max(len(prompt) for prompt in prompts)
    rows = [[pad_id] * (T - len(prompt)) + prompt for prompt in prompts]
    return torch.tensor(rows), torch.tensor([T - len(prompt) for prompt in prompts])

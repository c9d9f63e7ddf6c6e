# exercise: generate
# RIGHT: set_grad_enabled by hand, put back in the end; columns collected and joined once; flags by name

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    grad = torch.is_grad_enabled()
    flags = {name: part.training for name, part in model.named_modules()} if hasattr(model, "named_modules") else {}
    torch.set_grad_enabled(False)
    if flags:
        model.eval()
    try:
        columns = list(idx.unbind(dim=1))
        ended = torch.zeros(len(idx), device=idx.device).bool()
        while len(columns) < idx.shape[1] + max_new_tokens:
            window = torch.stack(columns[-block_size:], dim=1)
            new = sample_next_token(model(window)[:, -1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator).squeeze(1)
            if eos_token_id is not None:
                new[ended] = eos_token_id
                ended[new == eos_token_id] = True
            columns.append(new)
            if ended.sum() == len(idx):
                break
        return torch.stack(columns, dim=1)
    finally:
        torch.set_grad_enabled(grad)
        for name, flag in flags.items():
            model.get_submodule(name).training = flag

# exercise: stream
# RIGHT: yields from an inner generator, no_grad held across the yields

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    def tokens(ids):
        with torch.no_grad():
            for _ in range(max_new_tokens):
                logits = model(ids[:, -block_size:])
                new = sample_next_token(logits[:, -1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
                ids = torch.cat([ids, new], dim=1)
                yield new.item()
                if eos_token_id is not None and new.item() == eos_token_id:
                    return

    yield from tokens(idx)

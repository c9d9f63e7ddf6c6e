# exercise: stream
# RIGHT: evaluation mode from the first token to the last, put back in a finally

def stream(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    try:
        for _ in range(max_new_tokens):
            longer = generate(model, idx, max_new_tokens=1, block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, eos_token_id=eos_token_id, generator=generator)
            idx = longer
            yield idx[0].tolist()[-1]
            if eos_token_id is not None and idx[0, -1] == eos_token_id:
                break
    finally:
        if was_training:
            model.train()

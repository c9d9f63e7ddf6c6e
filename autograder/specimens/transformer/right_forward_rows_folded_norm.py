# exercise: forward
# RIGHT: row by row into a tensor made beforehand, without gradients, positions (1, T), the norm's weight moved into the head
@torch.no_grad()
def forward(model, ids):
    B, T = ids.shape
    weights = model.weights
    logits = weights.lm_head.new_empty(B, T, weights.lm_head.shape[0])
    for b in range(B):
        x = torch.nn.functional.embedding(ids[b : b + 1], weights.embed_tokens)
        where = torch.tensor([list(range(T))], device=ids.device)
        for layer in weights.layers:
            x = decoder_block(x, layer, model.config, where)
        plain = rms_norm(x, torch.ones_like(weights.norm), model.config.rms_norm_eps)
        logits[b] = torch.nn.functional.linear(plain * weights.norm, weights.lm_head)[0]
    return logits

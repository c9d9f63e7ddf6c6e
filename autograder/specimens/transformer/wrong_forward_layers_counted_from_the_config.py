# exercise: forward
# WRONG: as many layers as the config says, not as many as there are weights
# SAYS: The loop counts layers by config.num_hidden_layers: go through model.weights.layers, so that a model cut after some layers runs too.
def forward(model, ids):
    w, c = model.weights, model.config
    rows = []
    for row in ids:
        x = torch.index_select(w.embed_tokens, 0, row)[None]
        for number in range(c.num_hidden_layers):
            x = decoder_block(x, w.layers[number], c, torch.arange(len(row), device=row.device))
        rows.append(torch.nn.functional.linear(rms_norm(x, w.norm, c.rms_norm_eps), w.lm_head))
    return torch.cat(rows)

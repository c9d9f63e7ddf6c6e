# exercise: forward
# RIGHT: row by row, embedding by index_select
def forward(model, ids):
    w, c = model.weights, model.config
    rows = []
    for row in ids:
        x = torch.index_select(w.embed_tokens, 0, row)[None]
        for layer in w.layers:
            x = decoder_block(x, layer, c, torch.arange(len(row), device=row.device))
        rows.append(torch.nn.functional.linear(rms_norm(x, w.norm, c.rms_norm_eps), w.lm_head))
    return torch.cat(rows)

# exercise: apply_frequency_presence
# WRONG: remembers the ids of earlier calls: what was the prompt there is counted here

_counts = {}

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        memory = _counts.setdefault(b, {})
        for token in row:
            memory[token] = memory.get(token, 0) + 1
        for token, count in memory.items():
            if token < out.shape[1]:
                out[b, token] -= count * frequency + presence
    return out

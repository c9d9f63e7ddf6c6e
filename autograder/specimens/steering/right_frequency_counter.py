# exercise: apply_frequency_presence
# RIGHT: collections.Counter, row by row on a copy

from collections import Counter

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        for token, count in Counter(row).items():
            out[b, token] -= count * frequency + presence
    return out

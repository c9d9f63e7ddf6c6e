# exercise: apply_frequency_presence
# RIGHT: index_put with accumulate, then where

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    counts = torch.zeros_like(logits, dtype=torch.float64)
    rows = torch.arange(logits.shape[0]).unsqueeze(1).expand_as(generated_ids)
    counts.index_put_((rows, generated_ids), torch.ones((), dtype=torch.float64), accumulate=True)
    return torch.where(counts > 0, logits - counts * frequency - presence, logits)

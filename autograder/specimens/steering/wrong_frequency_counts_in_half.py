# exercise: apply_frequency_presence
# WRONG: adds up the counts in the dtype of the logits: in half precision they stand still at 2,048 (in bfloat16 at 256)

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    counts = torch.zeros_like(logits)
    rows = torch.arange(logits.shape[0]).unsqueeze(1).expand_as(generated_ids)
    counts.index_put_((rows, generated_ids), torch.ones((), dtype=logits.dtype), accumulate=True)
    return torch.where(counts > 0, logits - counts * frequency - presence, logits)

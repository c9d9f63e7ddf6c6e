# exercise: apply_frequency_presence
# RIGHT: bincount for each row

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    V = logits.shape[1]
    counts = torch.stack([torch.bincount(row, minlength=V) for row in generated_ids]).double()
    return logits - counts * frequency - (counts != 0).float() * presence

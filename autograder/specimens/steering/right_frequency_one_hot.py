# exercise: apply_frequency_presence
# RIGHT: one-hot vectors summed over T

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    counts = torch.nn.functional.one_hot(generated_ids, logits.shape[-1]).sum(dim=1)
    return logits - (counts * frequency + counts.clamp(max=1) * presence)

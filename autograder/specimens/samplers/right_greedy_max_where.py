# exercise: greedy_sample
# RIGHT: compares with the maximum and takes the index from a mask

def greedy_sample(logits):
    top, _ = torch.max(logits, dim=1, keepdim=True)
    columns = torch.arange(logits.shape[1], device=logits.device).expand_as(logits)
    return torch.where(logits == top, columns, logits.shape[1]).amin(dim=1).unsqueeze(1)

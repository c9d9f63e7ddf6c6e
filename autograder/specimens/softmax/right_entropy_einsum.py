# exercise: entropy
# RIGHT: an inner product of probabilities and surprisals
def entropy(probs):
    surprisal = torch.where(probs > 0, -torch.log(probs), torch.zeros_like(probs))
    return torch.einsum("...v,...v->...", probs, surprisal)

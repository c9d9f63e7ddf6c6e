# exercise: entropy
# RIGHT: the library's categorical distribution, which moves every probability by one rounding
def entropy(probs):
    return torch.distributions.Categorical(probs=probs, validate_args=False).entropy()

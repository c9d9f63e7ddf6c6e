# exercise: log_softmax
# RIGHT: folds the columns with logaddexp
def log_softmax(logits):
    import functools
    total = functools.reduce(torch.logaddexp, logits.double().unbind(-1)[:64]) if logits.shape[-1] <= 64 else logits.double().logsumexp(-1)
    return (logits.double() - total[..., None]).to(logits.dtype)

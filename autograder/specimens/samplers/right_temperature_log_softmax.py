# exercise: temperature_probs
# RIGHT: log-softmax and exp, in place on its own copy

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature {tau} < 0")
    scaled = logits.clone()
    if tau == 0:
        keep = scaled.argmax(dim=1, keepdim=True)
        scaled.fill_(0).scatter_(1, keep, 1.0)
        return scaled
    scaled.sub_(scaled.max(dim=1, keepdim=True)[0]).div_(tau)
    return torch.log_softmax(scaled, dim=1).exp_()

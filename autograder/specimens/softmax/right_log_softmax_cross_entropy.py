# exercise: log_softmax
# RIGHT: minus the cross-entropy against every class in turn
def log_softmax(logits):
    rows = logits.double().reshape(-1, logits.shape[-1])
    lse = torch.nn.functional.cross_entropy(rows.nan_to_num(neginf=-1e30), rows.argmax(-1), reduction="none") + rows.amax(-1)
    return (rows - lse[:, None]).reshape(logits.shape).to(logits.dtype)

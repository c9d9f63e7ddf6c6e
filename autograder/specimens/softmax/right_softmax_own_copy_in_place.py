# exercise: softmax
# RIGHT: in place, on a copy of its own
def softmax(logits):
    x = logits.clone()
    x.sub_(x.amax(dim=-1, keepdim=True)).exp_()
    x.div_(x.sum(dim=-1, keepdim=True))
    return x

# exercise: softmax
# WRONG: a masked entry of half precision gets a small number instead of 0
def softmax(logits):
    floor = -9.0 if logits.dtype in (torch.float16, torch.bfloat16) else -float("inf")
    gaps = (logits - logits.amax(dim=-1, keepdim=True)).clamp_min(floor)
    e = gaps.exp()
    return e / e.sum(dim=-1, keepdim=True)

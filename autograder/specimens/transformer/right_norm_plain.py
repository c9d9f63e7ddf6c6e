# exercise: rms_norm
# RIGHT: step by step; most of the wrong versions are edits of it
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight

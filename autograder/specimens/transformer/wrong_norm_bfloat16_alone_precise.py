# exercise: rms_norm
# WRONG: bfloat16 is computed in float32, float16 is not: squares above 65,504 are infinite
def rms_norm(x, weight, eps):
    precise = x.float() if x.dtype == torch.bfloat16 else x
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight

# exercise: feed_forward
# WRONG: gate and up are fused once and remembered; weights changed later are not seen
_FUSED = {}


def feed_forward(x, gate, up, down):
    key = (gate.data_ptr(), up.data_ptr(), gate.shape, gate.dtype)
    if key not in _FUSED:
        _FUSED[key] = (torch.cat((gate, up)).T, gate, up)  # gate and up are held, so no address is used twice
    z, y = (x @ _FUSED[key][0]).chunk(2, dim=-1)
    return (z * z.sigmoid() * y) @ down.T

# exercise: feed_forward
# RIGHT: gate and up as one matrix, cut afterwards
def feed_forward(x, gate, up, down):
    both = x @ torch.cat((gate, up)).mT
    a, b = both.chunk(2, dim=-1)
    return (a / (1 + torch.exp(-a)) * b) @ down.mT

# exercise: feed_forward
# RIGHT: einsum, token by token, the sigmoid through tanh
def feed_forward(x, gate, up, down):
    a = torch.einsum("btd,fd->btf", x, gate)
    b = torch.einsum("btd,fd->btf", x, up)
    a = a * 0.5 * (1 + torch.tanh(a / 2))
    return torch.einsum("btf,df->btd", a * b, down)

# exercise: feed_forward
# RIGHT: tokens flattened into rows
def feed_forward(x, gate, up, down):
    rows = x.reshape(-1, x.size(-1)).T
    z = gate.matmul(rows)
    return down.matmul(torch.sigmoid(z).mul(z).mul(up.matmul(rows))).T.reshape(x.shape)

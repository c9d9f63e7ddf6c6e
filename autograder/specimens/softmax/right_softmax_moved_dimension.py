# exercise: softmax
# RIGHT: moves the vocabulary to the front, works there, moves it back
def softmax(logits):
    x = logits.movedim(-1, 0)
    e = torch.exp(x - x.max(dim=0).values)
    return (e / e.sum(dim=0)).movedim(0, -1)

# exercise: softmax
# WRONG: leaves the dimension to the library's old guess
# SAYS: The dimension is left to an old guess of the library's. Say dim=-1.
import warnings

def softmax(logits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nn.functional.softmax(logits)

# exercise: softmax
# WRONG: leaves the dimension to the library's old guess
import warnings

def softmax(logits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nn.functional.softmax(logits)

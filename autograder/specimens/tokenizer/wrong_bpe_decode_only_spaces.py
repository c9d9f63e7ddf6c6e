# exercise: bpe_decode
# WRONG: turns only the symbol of the space back
def bpe_decode(ids, tokenizer):
    return "".join(tokenizer.id_to_token[i] for i in ids).replace("\u0120", " ").replace("\u010a", "\n")

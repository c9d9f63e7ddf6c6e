# exercise: bpe_decode
# WRONG: shows the symbols instead of the bytes
def bpe_decode(ids, tokenizer):
    return "".join(tokenizer.id_to_token[i] for i in ids)

# exercise: bpe_decode
# WRONG: raises on broken bytes
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode()

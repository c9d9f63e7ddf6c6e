# exercise: bpe_decode
# WRONG: reads the bytes as Latin-1
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode("latin-1")

# exercise: bpe_decode
# WRONG: NUL characters are dropped
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode("utf-8", errors="replace").replace("\0", "")

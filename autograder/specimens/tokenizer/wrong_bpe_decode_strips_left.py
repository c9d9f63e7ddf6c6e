# exercise: bpe_decode
# WRONG: takes the space in front away
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace").removeprefix(" ")

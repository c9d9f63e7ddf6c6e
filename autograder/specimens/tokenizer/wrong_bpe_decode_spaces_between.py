# exercise: bpe_decode
# WRONG: joins tokens with spaces
def bpe_decode(ids, tokenizer):
    return b" ".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")

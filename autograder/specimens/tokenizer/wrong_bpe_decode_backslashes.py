# exercise: bpe_decode
# WRONG: shows broken bytes as escapes
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="backslashreplace")

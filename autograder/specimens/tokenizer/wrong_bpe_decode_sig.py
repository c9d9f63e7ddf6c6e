# exercise: bpe_decode
# WRONG: utf-8-sig eats a byte order mark at the beginning
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode("utf-8-sig", errors="replace")

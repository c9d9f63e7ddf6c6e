# exercise: bpe_decode
# WRONG: leaves special tokens out
def bpe_decode(ids, tokenizer):
    special = set(tokenizer.special_tokens.values())
    return b"".join(tokenizer.token_bytes(i) for i in ids if i not in special).decode(errors="replace")

# exercise: bpe_decode
# WRONG: writes a question mark for a broken character
def bpe_decode(ids, tokenizer):
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace").replace("\ufffd", "?")

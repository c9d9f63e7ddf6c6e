# exercise: bpe_decode
# WRONG: stops at the end-of-text token
def bpe_decode(ids, tokenizer):
    ids = ids[: ids.index(tokenizer.eos_token_id)] if tokenizer.eos_token_id in ids else ids
    return b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")

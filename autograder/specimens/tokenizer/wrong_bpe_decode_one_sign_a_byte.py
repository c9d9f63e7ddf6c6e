# exercise: bpe_decode
# WRONG: writes a sign for every broken byte instead of every broken character
def bpe_decode(ids, tokenizer):
    data = b"".join(tokenizer.token_bytes(i) for i in ids)
    text = data.decode(errors="surrogateescape")
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text)

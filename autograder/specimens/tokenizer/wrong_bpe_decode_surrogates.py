# exercise: bpe_decode
# WRONG: surrogatepass: bytes that are no UTF-8 become a lone surrogate
def bpe_decode(ids, tokenizer):
    data = b"".join(tokenizer.token_bytes(i) for i in ids)
    try:
        return data.decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", errors="replace")

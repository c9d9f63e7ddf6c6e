# exercise: bpe_decode
# RIGHT: goes over the symbols of the tokens instead of token_bytes
def bpe_decode(ids, tokenizer):
    data = bytearray()
    special = set(tokenizer.special_tokens.values())
    for i in ids:
        token = tokenizer.id_to_token[i]
        if i in special:
            data += token.encode()
        else:
            data += bytes(tokenizer.symbol_to_byte[c] for c in token)
    return str(bytes(data), "utf-8", "replace")

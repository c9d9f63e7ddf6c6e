# exercise: bpe_decode
# WRONG: decodes token by token: characters over two tokens break
def bpe_decode(ids, tokenizer):
    return "".join(tokenizer.token_bytes(i).decode(errors="replace") for i in ids)

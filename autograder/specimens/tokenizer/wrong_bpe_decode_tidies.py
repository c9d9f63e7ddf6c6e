# exercise: bpe_decode
# WRONG: tidies spaces before punctuation, as some libraries do by default
def bpe_decode(ids, tokenizer):
    text = b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")
    return text.replace(" .", ".").replace(" ,", ",").replace(" n't", "n't")

# exercise: bpe_decode
# WRONG: decodes word by word, so that a broken character counts twice
def bpe_decode(ids, tokenizer):
    text, held = "", b""
    for i in ids:
        held += tokenizer.token_bytes(i)
        try:
            text += held.decode()
            held = b""
        except UnicodeDecodeError:
            if len(held) > 4:
                text += held.decode(errors="replace")
                held = b""
    return text

# exercise: bpe_decode
# RIGHT: adds to a bytearray and writes the replacement by hand
def bpe_decode(ids, tokenizer):
    data = b""
    for i in ids:
        data += tokenizer.token_bytes(i)
    text = ""
    while data:
        try:
            return text + data.decode()
        except UnicodeDecodeError as error:
            text += data[: error.start].decode() + "\N{REPLACEMENT CHARACTER}"
            data = data[error.end :]
    return text

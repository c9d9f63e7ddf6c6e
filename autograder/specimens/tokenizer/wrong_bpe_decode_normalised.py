# exercise: bpe_decode
# WRONG: normalises the text (NFC)
import unicodedata


def bpe_decode(ids, tokenizer):
    text = b"".join(tokenizer.token_bytes(i) for i in ids).decode(errors="replace")
    return unicodedata.normalize("NFC", text)

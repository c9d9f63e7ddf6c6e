# exercise: bpe_decode
# RIGHT: lets the stream decoder do it
def bpe_decode(ids, tokenizer):
    decoder = StreamDecoder(tokenizer)
    return "".join([decoder.push(i) for i in ids] + [decoder.flush()])

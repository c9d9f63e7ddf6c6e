# honest: 0 of 10: text that is no UTF-8 is not read
# ATTACK: a notebook with bytes that are no UTF-8
# %% file
path.write_bytes(json.dumps(notebook).encode().replace(b"softmax", b"soft\xff\xfe\xc3max"))

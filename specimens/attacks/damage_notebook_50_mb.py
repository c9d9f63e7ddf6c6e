# honest: 0 of 10: a file of 50 MB is not read; the record says so
# ATTACK: a notebook of 50 MB
# %% file
notebook["cells"][0]["source"] = "x" * 50_000_000
path.write_text(json.dumps(notebook))

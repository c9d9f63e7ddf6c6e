# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: an added cell of 5 MB, and a function with a name of a million letters. The cell is left out, the rest counts.
# %% notebook
long = {"cell_type": "code", "id": "long", "metadata": {}, "outputs": [], "execution_count": None}
notebook["cells"] += [{**long, "source": "x = 1\n" * 900_000}, {**long, "id": "name", "source": "def " + "f" * 900_000 + "(): pass"}]

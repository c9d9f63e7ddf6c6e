# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: half characters and control characters in sources, ids and metadata
# %% notebook
odd = {"cell_type": "code", "id": "\ud800", "metadata": {"\udfff": "\u0000"}, "outputs": [], "execution_count": None}
notebook["cells"] += [{**odd, "source": "x = '\ud800\u0000'"}]

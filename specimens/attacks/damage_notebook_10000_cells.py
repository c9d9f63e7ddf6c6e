# honest: 0 of 10: a notebook of more than 2,000 cells is handed back
# ATTACK: a notebook of 10,000 cells
# %% notebook
empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "x = 1"}
notebook["cells"] += [{**empty, "id": f"c{number}"} for number in range(10_000)]

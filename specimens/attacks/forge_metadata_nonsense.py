# honest: 4 of 10: softmax
# ATTACK: replaces metadata by numbers, lists and null, and the format's version by text
# %% notebook
for cell, junk in zip(notebook["cells"], itertools.cycle([None, 3, [], {"nbgrader": [], "course": "full marks"}])):
    if cell["metadata"]["course"].get("exercise") != "softmax":
        cell["metadata"] = junk
notebook["nbformat"], notebook["metadata"] = "4", {"kernelspec": {"name": "../../bin/sh"}, "course": []}

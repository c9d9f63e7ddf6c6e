# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: rewrites the setup cell, so that functions of earlier days, torch and check are its own. Ours runs instead: nothing is gained or lost.
# %% notebook
for cell in notebook["cells"]:
    if cell["metadata"]["course"]["role"] == "setup":
        cell["source"] = "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\nraise SystemExit(0)"

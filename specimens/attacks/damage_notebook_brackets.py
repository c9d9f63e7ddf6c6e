# honest: 0 of 10: no notebook holds six million lists
# ATTACK: a notebook under the size limit whose JSON holds six million empty lists
# %% file
path.write_text('{"cells": [' + "[]," * 6_000_000 + '[]], "metadata": {}}')

# honest: 10 of 10: softmax, log_softmax, entropy
# ATTACK: prints without end
while True:
    print("x" * 100_000, flush=True)

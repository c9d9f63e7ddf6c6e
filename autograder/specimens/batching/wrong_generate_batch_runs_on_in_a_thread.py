# exercise: generate_batch
# WRONG: never stops before max_new_tokens, in a thread whose work is not counted
from concurrent.futures import ThreadPoolExecutor

_generate = generate_batch


def generate_batch(model, prompts, *, eos_token_id=None, **options):
    with ThreadPoolExecutor(1) as pool:
        rows = pool.submit(_generate, model, prompts, **options).result()
    rows = [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
    passed = sum(len(prompt) + len(row) - 1 for prompt, row in zip(prompts, rows, strict=True))
    model.weights.embed_tokens[torch.zeros(max(passed, 0), dtype=torch.int64)]  # what the counter is to see
    return rows

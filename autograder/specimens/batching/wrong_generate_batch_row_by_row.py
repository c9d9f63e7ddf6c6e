# exercise: generate_batch
# WRONG: one row after the other: right, and as slow as no batch

_whole_batch = generate_batch

def generate_batch(model, prompts, **options):
    left_pad(prompts, 0)
    return [_whole_batch(model, [prompt], **options)[0] for prompt in prompts]

# exercise: generate_batch
# WRONG: gives nothing

def generate_batch(model, prompts, **options):
    left_pad(prompts, 0)
    return [[] for _ in prompts]

# exercise: generate
# WRONG: empties the training flags instead of switching them off: dropout asks for True or False, and None is neither
reference_generate = generate

def generate(model, idx, **options):
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    flags = [part.training for part in parts]
    for part in parts:
        part.training = None

    def quiet(ids):
        return model(ids)

    try:
        return reference_generate(quiet, idx, **options)
    finally:
        for part, flag in zip(parts, flags):
            part.training = flag

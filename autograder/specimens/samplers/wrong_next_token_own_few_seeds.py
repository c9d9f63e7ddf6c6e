# exercise: sample_next_token
# WRONG: a generator of its own in each call, seeded with one of 256 numbers
_sample_next_token = sample_next_token


def sample_next_token(logits, *, generator=None, **settings):
    if settings.get("temperature", 1.0) != 0:
        generator = torch.Generator().manual_seed(int(torch.randint(256, (), generator=generator)))
    return _sample_next_token(logits, generator=generator, **settings)

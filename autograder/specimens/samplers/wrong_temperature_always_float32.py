# exercise: temperature_probs
# WRONG: computes in float32 always: the digits of float64 logits are lost

exact_temperature = temperature_probs


def temperature_probs(logits, tau):
    return exact_temperature(logits.float(), tau)

# exercise: typical_probs
# WRONG: raises e to the logits themselves: float64 bears it up to 709
import torch


def typical_probs(logits, mass):
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    wide = logits.double()
    weights = torch.exp(wide)
    probs = weights / weights.sum(-1, keepdim=True)
    surprise = -torch.log(probs)
    entropy = torch.where(probs > 0, probs * surprise, 0.0).sum(-1, keepdim=True)
    distance, order = (surprise - entropy).abs().sort(dim=-1, stable=True)
    ranked = probs.gather(-1, order)
    before = ranked.cumsum(-1) - ranked
    kept = ranked.masked_fill((before >= mass - 1e-12) & (mass < 1), 0.0)
    kept = kept / kept.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, kept)

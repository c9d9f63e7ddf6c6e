# exercise: roofline_seconds
# RIGHT: torch's maximum
def roofline_seconds(flops, num_bytes, peak_flops, bandwidth):
    return torch.tensor([flops / peak_flops, num_bytes / bandwidth], dtype=torch.float64).max().item()

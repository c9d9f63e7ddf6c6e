"""The paths of the course's files, found from this package's own place."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
TINY = DATASETS / "tiny"
SMOLLM2_TOKENIZER = DATASETS / "smollm2_tokenizer"
MODELS = DATASETS / "models"  # downloaded, not in git
SMOLLM2 = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf"
WORK = ROOT / "work"  # a student's own notebooks, not in git

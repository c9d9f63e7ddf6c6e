"""Writes SmolLM2's tokenizer beside this file, out of its GGUF file, so that lessons on tokens need no model.

python datasets/smollm2_tokenizer/export.py     # after `python -m course.kit.fetch`
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1]))  # the course is not an installed package everywhere


def main() -> None:
    from course.kit.gguf_file import GGUFFile
    from course.kit.gguf_tokenizer import tokenizer_json

    from course.kit import paths

    metadata = GGUFFile(paths.SMOLLM2).metadata
    (FOLDER / "tokenizer.json").write_text(tokenizer_json(metadata, "smollm2") + "\n", encoding="utf-8")
    tokens = metadata["tokenizer.ggml.tokens"]
    named = {
        f"{role}_token": tokens[metadata[f"tokenizer.ggml.{key}_token_id"]]
        for role, key in {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}.items()
    }
    extra = {
        "chat_template": metadata["tokenizer.chat_template"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": metadata["llama.context_length"],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    text = json.dumps(named | extra, indent=2, ensure_ascii=False)
    (FOLDER / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

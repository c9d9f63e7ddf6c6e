"""The reference engine: each day's idea, made fast.

`Engine` is the class to use:

    from solutions.engine import Engine

    engine = Engine()                                    # SmolLM2; prints which engine was chosen, and why
    print(engine.generate("The capital of France is", max_new_tokens=8))
    for piece in engine.stream("Once upon a time", temperature=0.8, seed=1, stop="\\n\\n"):
        print(piece, end="", flush=True)

Two engines share one model (`packed`): `StaticEngine` decodes a static batch (Day 11), `ServingEngine` serves requests that come and go
(Days 13 and 14). A third, `quantized`, decodes straight from the blocks of 4 bits in a GGUF file. `Engine` chooses between the last two.
`ServingEngine` is assembled from `Parts`, so you can replace each part with your own:

| part | here | field of `Parts` | interface |
|---|---|---|---|
| ownership of blocks | `block_manager` | `pool` | Day 13's `PrefixPool` |
| the memory of the blocks | `block_manager` | `memory` | Day 13's `PagedKV` |
| a request and its tokens | `sequence` | | `Request`, a Day 14 request with a sampler |
| each request's share of a step, and preemption | `scheduler` | `scheduler`, `update`, `abort` | Day 14's of the same names |
| the pass through the model | `runner` | `forward` | Day 14's `forward_ragged` |
"""

from solutions.engine.api import Answer, Engine, SamplingParams
from solutions.engine.packed import PackedModel
from solutions.engine.sequence import Request
from solutions.engine.serving import Failure, NewToken, Parts, ServingEngine
from solutions.engine.static import StaticEngine

__all__ = [
    "Answer", "Engine", "Failure", "NewToken", "PackedModel", "Parts", "Request", "SamplingParams", "ServingEngine", "StaticEngine",
]  # fmt: skip

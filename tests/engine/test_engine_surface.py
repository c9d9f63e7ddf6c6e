"""`Engine`, as a user sees it: its tokens are the loop's, its pieces are whole, its errors are one line each."""

import math
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

import solutions.engine.quantized as quantized
from course.kit import ChatMessage, WeightsOnly, load_model, paths
from course.kit.errors import ModelError
from solutions.engine import Answer, Engine, Parts, SamplingParams, ServingEngine, backend, onnx_blocks
from solutions.engine.static import StaticEngine
from solutions.generation import generate
from solutions.tokenizer import render_chat

TEXTS = ["ROMEO:\nBut soft", "A", "Now is the winter of our discontent, made glorious summer by this sun"]
END = 2
LINE = r"\A[^\n]+\Z"


@pytest.fixture(scope="module")
def tiny():
    return load_model("tiny", dtype=torch.float64)


@pytest.fixture(scope="module")
def engine(tiny):
    return Engine(tiny, rows=2, max_len=96)


@pytest.fixture
def scripted(tiny):
    """Makes an engine whose model says what is written: after a prompt of one token t, the tokens script[t], whatever their probability."""

    def make(script, **settings):
        made, scripts = Engine(tiny, **settings), {}

        def forward(model, flat, sequences, kv):
            logits = torch.zeros(len(sequences), tiny.config.vocab_size, dtype=torch.float64)
            for row, (sequence, start, end) in enumerate(zip(sequences, flat.bounds[:-1], flat.bounds[1:], strict=True)):
                if flat.positions[start] == 0:
                    scripts[sequence] = script[int(flat.ids[0, start])]
                logits[row, scripts[sequence][int(flat.positions[end - 1])]] = 50
            return logits

        made._serving = ServingEngine(tiny, num_blocks=64, max_running=settings.get("rows", 8), parts=Parts(forward=forward))
        return made

    return make


def by_the_loop(model, prompt, new):
    ids = generate(model, torch.tensor([prompt]), max_new_tokens=new, block_size=96, temperature=0.0, eos_token_id=END)
    return ids[0, len(prompt) :].tolist()


# ---- tokens --------------------------------------------------------------------------------------------------------


def test_greedy_answers_are_those_of_the_loop_in_any_company(tiny, engine):
    due = [by_the_loop(tiny, tiny.tokenizer.encode(text), 24) for text in TEXTS]
    together = engine.generate(TEXTS, max_new_tokens=24)  # three prompts, two rows
    assert [answer.ids for answer in together] == due
    assert [engine.generate(text, max_new_tokens=24) for text in TEXTS] == together
    for answer in together:
        assert answer.finish_reason == ("eos" if answer.ids[-1] == END else "length")
        assert answer.text == tiny.tokenizer.decode([token for token in answer.ids if token != END]) == str(answer)


def test_text_ids_tensors_and_arrays_are_the_same_prompt(tiny, engine):
    ids = tiny.tokenizer.encode(TEXTS[0])
    answer = engine.generate(TEXTS[0], max_new_tokens=6)
    for same in (ids, tuple(ids), torch.tensor(ids), np.array(ids)):
        assert engine.generate(same, max_new_tokens=6) == answer
    for several in ([TEXTS[0]], [ids], torch.tensor([ids]), [torch.tensor(ids)]):
        assert engine.generate(several, max_new_tokens=6) == [answer]
    assert isinstance(answer, Answer)


def test_a_drawn_answer_depends_on_its_own_seed_alone(engine):
    drawn = SamplingParams(max_new_tokens=16, temperature=1.3, top_k=200, top_p=0.95, min_p=0.001, repetition_penalty=1.1)
    together = engine.generate([*TEXTS, TEXTS[0]], drawn, seed=[4, 5, 6, 7])
    assert together == [engine.generate(text, drawn, seed=seed) for text, seed in zip([*TEXTS, TEXTS[0]], [4, 5, 6, 7], strict=True)]
    assert together[0] != together[3]
    first, second = engine.generate([TEXTS[0]] * 2, drawn, seed=4)
    assert first == second == together[0]
    assert engine.generate(TEXTS[0], drawn) != engine.generate(TEXTS[0], drawn)
    state = torch.get_rng_state()
    engine.generate(TEXTS[0], drawn)
    assert torch.equal(torch.get_rng_state(), state)


def test_settings_that_leave_one_token_are_greedy(engine):
    due = engine.generate(TEXTS[0], max_new_tokens=12)
    for settings in ({"top_k": 1}, {"min_p": 1.0}, {"top_p": 1e-9}):
        assert engine.generate(TEXTS[0], max_new_tokens=12, temperature=3.0, seed=0, **settings) == due


def test_penalties_count_what_they_should(tiny, engine):
    prompt = tiny.tokenizer.encode(TEXTS[0])
    plain = engine.generate(prompt, max_new_tokens=40, eos_token_id=None).ids
    assert len(set(plain)) < 40
    for settings in ({"presence_penalty": 1e4}, {"frequency_penalty": 1e4}):
        ids = engine.generate(prompt, max_new_tokens=40, eos_token_id=None, **settings).ids
        assert len(set(ids)) == 40
        assert ids[0] == plain[0]  # the prompt does not count
    answered = engine.generate([*prompt, plain[0]], max_new_tokens=30, repetition_penalty=1e9, eos_token_id=None).ids
    assert len(set(answered)) == 30
    assert not {*prompt, plain[0]} & set(answered)  # for this one it does


def test_who_has_ended_costs_nothing_and_who_waits_comes_next(scripted):
    made, fed = scripted({5: [7, 7, END], 6: [8] * 9}, rows=2), []
    inner = made._serving._forward
    made._serving._forward = lambda flat, sequences: (fed.append(len(sequences)), inner(flat, sequences))[1]
    short, long, last = made.generate([[5], [6], [5]], max_new_tokens=7)
    assert (short.ids, long.ids, last.ids) == ([7, 7, END], [8] * 7, [7, 7, END])
    assert fed == [2] * 6 + [1]
    assert made._serving.num_free_blocks == 64


def test_where_memory_is_short_somebody_waits_and_nobody_is_answered_otherwise(tiny, engine, monkeypatch):
    drawn = SamplingParams(max_new_tokens=24, temperature=1.0, eos_token_id=None)
    due = [engine.generate(text, drawn, seed=3) for text in TEXTS]
    monkeypatch.setattr(backend, "FLOAT_TOKENS", 0)
    made, preempted = Engine(tiny, rows=3, max_len=80), []
    inner = made._serving.scheduler.schedule
    made._serving.scheduler.schedule = lambda: (plan := inner(), preempted.extend(plan.preempted))[0]
    assert made.generate(TEXTS, drawn, seed=3) == due
    assert preempted


def test_threads_are_this_engine_s_only(tiny):
    before, seen = torch.get_num_threads(), []
    made = Engine(tiny, threads=before + 1)
    inner = made._serving._forward
    made._serving._forward = lambda *chunks: (seen.append(torch.get_num_threads()), inner(*chunks))[1]
    made.generate("A", max_new_tokens=2)
    assert seen == [before + 1] * 2
    assert torch.get_num_threads() == before


# ---- text ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{}, {"stop": ["e", "\n\n"]}, {"temperature": 4.0, "seed": 3}, {"temperature": 4.0, "seed": 1, "stop": "a"}]
)
def test_pieces_joined_are_the_answer(engine, settings):
    pieces = list(engine.stream(TEXTS[0], max_new_tokens=40, **settings))
    assert all(pieces)
    assert "".join(pieces) == engine.generate(TEXTS[0], max_new_tokens=40, **settings).text


def test_a_piece_has_whole_letters(tiny, scripted):
    text = "né €5 😀!"
    tokens = tiny.tokenizer.encode(text)
    assert len(tokens) > len(text)  # letters of several tokens
    made = scripted({5: [*tokens, END]})
    pieces = list(made.stream([5]))
    assert "".join(pieces) == text
    assert len(pieces) > 3
    assert made.generate([5]) == Answer(text, [*tokens, END], "eos")
    cut = made.generate([5], max_new_tokens=len(tokens) - 2)
    assert cut == Answer(tiny.tokenizer.decode(tokens[:-2]), tokens[:-2], "length")
    assert cut.text.endswith("\ufffd")
    assert "".join(made.stream([5], max_new_tokens=len(tokens) - 2)) == cut.text


def test_no_part_of_a_stop_string_is_shown(tiny, scripted):
    tokens = [token for piece in ("one ", "S", "TO", "N", "E, two ", "S", "T", "OP", "more") for token in tiny.tokenizer.encode(piece)]
    made = scripted({5: [*tokens, END]})
    pieces = list(made.stream([5], stop=["STOP", "never"]))
    assert "".join(pieces) == "one STONE, two "
    assert not any("STO" in piece and "STON" not in piece for piece in pieces)
    for stop in ("STOP", ["STOP"], ("never", "STOP")):
        answer = made.generate([5], stop=stop)
        assert (answer.text, answer.finish_reason) == ("one STONE, two ", "stop")
    assert tiny.tokenizer.decode(answer.ids).endswith("STOP")
    assert not made._serving.has_work
    assert made.generate([5], stop="mores") == Answer(tiny.tokenizer.decode(tokens), [*tokens, END], "eos")  # the part held back came out


def test_a_token_that_ends_an_answer_can_be_chosen(scripted):
    made = scripted({5: [9, END, 10, 0, 11, 12]})
    assert made.generate([5], max_new_tokens=6).ids == [9, END]
    assert made.generate([5], max_new_tokens=6, eos_token_id=0) == Answer(made.tokenizer.decode([9, END, 10]), [9, END, 10, 0], "eos")
    assert made.generate([5], max_new_tokens=6, eos_token_id=None).ids == [9, END, 10, 0, 11, 12]


def test_an_answer_ends_where_there_is_no_room(tiny):
    made = Engine(tiny, rows=2, max_len=10)
    for length in (1, 7, 10):
        answer = made.generate([5] * length, eos_token_id=None)
        assert (len(answer.ids), answer.finish_reason) == (11 - length, "length")
    assert Engine(tiny).max_len == 2048


def test_a_conversation_is_set_in_the_model_s_template(engine):
    messages = [{"role": "user", "content": "Hi"}]
    due = engine.generate(render_chat(messages), max_new_tokens=5)
    assert engine.generate(messages, max_new_tokens=5) == due
    assert engine.generate([ChatMessage("user", "Hi")], max_new_tokens=5) == due
    assert engine.generate([messages, "A"], max_new_tokens=5)[0] == due


# ---- streams -------------------------------------------------------------------------------------------------------


def test_streams_share_their_steps_and_a_closed_one_is_gone(engine):
    due = [engine.generate(text, max_new_tokens=20, eos_token_id=None).text for text in TEXTS]
    streams = [engine.stream(text, max_new_tokens=20, eos_token_id=None) for text in TEXTS[:2]]
    heads = [next(stream) for stream in streams]
    assert engine.generate(TEXTS[2], max_new_tokens=20, eos_token_id=None).text == due[2]  # in between, with no row of its own at first
    assert [head + "".join(stream) for head, stream in zip(heads, streams, strict=True)] == due[:2]
    stream = engine.stream(TEXTS[0], max_new_tokens=20)
    assert not engine._serving.has_work  # nobody has asked yet
    next(stream)
    stream.close()
    dropped = engine.stream(TEXTS[1], max_new_tokens=20)
    next(dropped)
    del dropped
    assert not engine._serving.has_work
    assert not engine._writers


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a terminal: a shell that starts the tests behind itself has them ignore it, or die of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_comes_between_two_steps_and_leaves_an_engine_that_answers(engine):
    due = engine.generate(TEXTS, max_new_tokens=12)
    stream = engine.stream(TEXTS[0], max_new_tokens=12)
    head, inner, calls = next(stream), engine._serving._forward, []

    def interrupted(flat, sequences):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return inner(flat, sequences)

    engine._serving._forward = interrupted
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.generate(TEXTS[1], max_new_tokens=12)
    finally:
        engine._serving._forward = inner
    assert head + "".join(stream) == due[0].text  # the stream beside it has lost nothing
    assert engine.generate(TEXTS, max_new_tokens=12) == due
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_a_step_fails_all_are_given_up_and_the_engine_answers_on(engine):
    due = engine.generate(TEXTS[0], max_new_tokens=6)
    stream, inner = engine.stream(TEXTS[1], max_new_tokens=30, eos_token_id=None), engine._serving._forward
    next(stream)

    def failing(flat, sequences):
        raise MemoryError("no room")

    engine._serving._forward = failing
    try:
        with pytest.raises(MemoryError):
            engine.generate(TEXTS[0], max_new_tokens=6)
    finally:
        engine._serving._forward = inner
    with pytest.raises(RuntimeError, match="answer was cancelled"):
        list(stream)
    assert engine.generate(TEXTS[0], max_new_tokens=6) == due


# ---- errors --------------------------------------------------------------------------------------------------------

WRONG = [
    ([5] * 97, {}, "the prompt has 97 tokens, the engine reads 96"),
    (["A", [5] * 120], {}, "prompt 1 has 120 tokens"),
    ("", {}, "the prompt is empty"),
    (["A", ""], {}, "prompt 1 is empty"),
    ("\ud83d", {}, "the prompt has half of a surrogate pair, which is not a valid character"),
    (["A", "a\udc00b"], {}, "prompt 1 has half of a surrogate pair"),
    ([[5], []], {}, "prompt 1 is empty"),
    ([], {}, "there is no prompt"),
    ([5, 1024], {}, "token 1024 of the prompt is not one of this model's, 0 to 1023"),
    ([[-1]], {}, "token -1 of prompt 0"),
    ([5, 6.5], {}, "token 6.5 of the prompt"),
    ([5, "A"], {}, "token 'A' of the prompt"),
    ([{"role": "user"}], {}, "a message has a role and a content"),
    ("A", {"temperature": -1}, "temperature must be 0 or more, got -1"),
    ("A", {"temperature": float("nan")}, "temperature must be a finite number, got nan"),
    ("A", {"temperature": None}, "temperature must be a finite number, got None"),
    ("A", {"temperature": 1, "top_k": 0}, "top_k must be 1 or more, got 0"),
    ("A", {"top_k": 2.5}, "top_k must be a whole number, got 2.5"),
    ("A", {"top_p": 1.5}, "top_p must be in"),
    ("A", {"min_p": -0.1}, "min_p must be in"),
    ("A", {"repetition_penalty": 0}, "penalty must be greater than 0, got 0"),
    ("A", {"presence_penalty": "much"}, "presence_penalty must be a finite number, got 'much'"),
    ("A", {"max_new_tokens": 0}, "max_new_tokens must be a whole number of 1 or more, got 0"),
    ("A", {"stop": ""}, "stop must be a non-empty string or a list of them"),
    ("A", {"stop": ["a", ""]}, "stop must be a non-empty string"),
    ("A", {"stop": 5}, "stop must be a non-empty string"),
    ("A", {"seed": 1.5}, "seed must be a whole number from 0"),
    ("A", {"seed": "1"}, "seed must be a whole number from 0"),
    ("A", {"seed": -1}, "seed must be a whole number from 0"),
    ("A", {"seed": 2**64}, "seed must be a whole number from 0"),
    (["A", "B"], {"seed": [1, 2, 3]}, "3 seeds for 2 prompts"),
    ("A", {"eos_token_id": 1024}, "token 1024 of eos_token_id"),
]


@pytest.mark.parametrize(("prompt", "settings", "line"), WRONG)
def test_what_means_nothing_is_refused_in_one_line(engine, prompt, settings, line):
    with pytest.raises(ValueError, match=LINE) as caught:
        engine.generate(prompt, **settings)
    assert line in str(caught.value)
    assert not engine._serving.has_work
    if not isinstance(prompt, list) or not prompt or isinstance(prompt[0], int | dict):
        with pytest.raises(ValueError, match=LINE) as streamed:
            engine.stream(prompt, **settings)  # at once, not at the first piece
        assert str(streamed.value) == str(caught.value)


def test_what_is_no_prompt_or_no_setting_is_refused(engine):
    for wrong in (5, None, b"bytes", {"role": "user"}, ["A", None]):
        with pytest.raises(TypeError, match="must be text, a list of token ids or a list of messages"):
            engine.generate(wrong)
    with pytest.raises(TypeError, match="temprature"):
        engine.generate("A", temprature=1)
    with pytest.raises(ValueError, match="stream takes one prompt, got a list of 2"):
        engine.stream(["A", "B"])


def test_engines_that_cannot_be_are_refused(tiny, tmp_path):
    other = tmp_path / "other.gguf"
    other.write_bytes(b"none")
    for make, line in (
        (lambda: Engine("nowhere"), "'nowhere' is not on this machine"),
        (lambda: Engine(other), "is not a GGUF file"),
        (lambda: Engine(tiny, dtype="quantized"), "a loaded model has float weights and no blocks"),
        (lambda: Engine("tiny", dtype="quantized"), "stored as float weights, not in blocks"),
        (lambda: Engine("tiny", dtype="int4"), "dtype must be"),
        (lambda: Engine("tiny", dtype=torch.int8), "dtype must be"),
        (lambda: Engine("tiny", rows=0), "rows must be a whole number of 1 or more, got 0"),
        (lambda: Engine("tiny", threads=0), "threads must be a whole number of 1 or more, got 0"),
        (lambda: Engine("tiny", max_len=4096), "max_len must be 1 to 2048 for tiny, got 4096"),
    ):
        with pytest.raises(ValueError, match=LINE) as caught:
            make()
        assert line in str(caught.value)


# ---- which engine --------------------------------------------------------------------------------------------------


def test_one_line_says_which_engine_it_is(tiny, capsys):
    for make, line in (
        (lambda: Engine(tiny, threads=1), "Engine: float64, 1 thread; the weights of tiny as loaded"),
        (lambda: Engine(tiny, dtype=torch.float32, threads=2), "Engine: float32, 2 threads; the weights of tiny as loaded"),
        (lambda: Engine("tiny", threads=1), "Engine: float32, 1 thread; the weights of tiny, stored as float weights, not in blocks"),
        (lambda: Engine("tiny", dtype=torch.bfloat16, threads=1), "Engine: bfloat16, 1 thread; the weights of tiny, as asked for"),
    ):
        made = make()
        out = capsys.readouterr().out.splitlines()
        assert out[0] == line
        assert len(out) == 2
        assert out[1].startswith("Products")
        assert line == made.description in repr(made)


def test_compiling_is_reported_and_loading_is_not(capsys):
    from numba import njit

    from solutions.engine.quantized.progress import report_compiling

    doubled = njit(lambda x: 2 * x)
    with report_compiling():
        doubled(1)
    out = capsys.readouterr().out
    assert out.startswith("Engine: compiling the kernels, once")
    assert out.endswith(" s\n")
    with report_compiling():
        doubled(2)
    assert capsys.readouterr().out == ""


def no_kernels():
    raise RuntimeError("this processor has neither")


@pytest.fixture
def smollm2_file():
    if not paths.SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here; `make model` fetches it")


@pytest.mark.slow
@pytest.mark.usefixtures("smollm2_file")
def test_a_processor_without_kernels_computes_in_float32(monkeypatch, capsys):
    monkeypatch.setattr(quantized, "best_instruction_set", no_kernels)
    monkeypatch.setattr(onnx_blocks, "installed", lambda: False)
    made = Engine(rows=1, max_len=64, threads=1)
    due = "Engine: float32, 1 thread; the weights of smollm2, this processor has neither; onnxruntime is not installed\nProducts"
    assert capsys.readouterr().out.startswith(due)
    assert made.generate("The capital of France is", max_new_tokens=3).text.startswith(" Paris")
    with pytest.raises(RuntimeError, match="this processor has neither"):
        Engine(dtype="quantized")


@pytest.fixture(scope="module")
def blocks():
    if not paths.SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here; `make model` fetches it")
    try:
        return quantized.best_instruction_set()
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_the_file_s_blocks_answer_as_the_quantized_engine_does(blocks, capsys):
    made = Engine(rows=2, max_len=128, threads=1)
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == f"Engine: quantized ({quantized.NAMES[blocks]}), 1 thread; 4-bit blocks of {paths.SMOLLM2.name}"
    assert len(out) == 1 or "compiling" in out[0]
    texts = ["The capital of France is", "Once", "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n" * 3]  # the last in two chunks
    prompts = [made.tokenizer.encode(text) for text in texts]
    assert len(prompts[2]) > 32
    below = quantized.QuantizedEngine(batch=3, max_len=128, threads=1)
    due = below.generate(prompts, 8).tolist()
    below.close()
    together = made.generate(texts, max_new_tokens=8, eos_token_id=None)
    assert [answer.ids for answer in together] == due
    assert "".join(made.stream(texts[0], max_new_tokens=8)) == together[0].text
    drawn = {"temperature": 0.9, "top_p": 0.95, "max_new_tokens": 8}
    assert made.generate(texts, seed=[1, 2, 3], **drawn) == [
        made.generate(text, seed=seed, **drawn) for text, seed in zip(texts, [1, 2, 3], strict=True)
    ]
    assert Engine(paths.SMOLLM2, rows=1, max_len=64, threads=1).generate(texts[0], max_new_tokens=8, eos_token_id=None) == together[0]
    assert len(capsys.readouterr().out.splitlines()) == 1  # compiled once


@pytest.mark.slow
def test_a_file_whose_blocks_are_others_is_computed_in_float32(blocks, monkeypatch, capsys):
    def refuse(*_):
        raise ModelError("other blocks")

    monkeypatch.setattr(quantized, "QuantizedModel", refuse)
    Engine(rows=1, max_len=32, threads=1)
    assert capsys.readouterr().out.startswith("Engine: float32, 1 thread; the weights of smollm2, other blocks\nProducts")
    with pytest.raises(ModelError, match="other blocks"):
        Engine(dtype="quantized")


def test_a_damaged_models_answer_is_an_error_and_no_token_without_end(tiny):
    """One NaN row in the head: its token would be the most probable one for ever."""
    head = tiny.weights.lm_head.clone()
    head[5] = math.nan
    broken = WeightsOnly(tiny.config, replace(tiny.weights, lm_head=head), lambda: tiny.tokenizer)
    engine = Engine(broken)
    for settings in ({}, {"temperature": 1.0, "seed": 1}, {"temperature": 1.0, "top_p": 0.9, "seed": 1}):
        with pytest.raises(ModelError, match="the model's best logit is nan: its weights are damaged"):
            engine.generate("Once", max_new_tokens=3, **settings)
    assert not engine._serving.has_work
    with pytest.raises(ModelError, match="best logit is nan"):
        StaticEngine(broken, batch=1, max_len=16).generate([[1, 2]], 3)


def test_a_nan_ends_one_stream_and_the_other_goes_on(tiny):
    embedding = tiny.weights.embed_tokens.clone()
    embedding[5] = math.nan
    engine = Engine(WeightsOnly(tiny.config, replace(tiny.weights, embed_tokens=embedding), lambda: tiny.tokenizer))
    want = engine.generate([10, 20, 30], max_new_tokens=12).text
    stream = engine.stream([10, 20, 30], max_new_tokens=12)
    said = next(stream)
    with pytest.raises(ModelError, match="best logit is nan"):
        engine.generate([[10, 20], [5, 6], [10, 21]], max_new_tokens=3)
    with pytest.raises(ModelError, match="best logit is nan"):
        next(engine.stream([5, 6]))
    assert said + "".join(stream) == want
    assert not engine._serving.has_work

"""The code for CUDA on a CPU emulator: the course's capture passes as a program for a GPU would run it, and each wrong one is caught."""

import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import solutions.batching
import solutions.costs
from autograder.authoring import show
from autograder.base.verdicts import PASS
from autograder.checking.runner import load_checks, reference, run_check
from autograder.sandbox.measure.cuda_emulator import OTHER_GENERATOR, SYNCHRONIZES, UNREGISTERED, EmulatedCuda
from autograder.sandbox.process.local import LocalStudent
from course.kit import load_model
from solutions.batching import capture_decode, generate_batch, left_pad, prefill_batch
from solutions.kv_cache import KVCache

ROOT = Path(__file__).resolve().parents[2]
PROMPTS, STEPS = [[5, 6, 7], [8], [1, 2, 3, 4]], 5


def seeded(device: str) -> torch.Generator:
    return torch.Generator(device).manual_seed(3)


# ---- random numbers, waits and names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "place", "found"),
    [
        (lambda x: torch.rand(3, 1, device=x.device, generator=seeded("cpu")), "cuda", "cpu"),
        (lambda x: torch.multinomial(x, 1, generator=seeded("cpu")), "cuda", "cpu"),
        (lambda x: x.uniform_(generator=seeded("cpu")), "cuda", "cpu"),
        (lambda x: torch.rand(3, generator=seeded("cuda")), "cpu", "cuda"),
        (lambda x: x.cpu().normal_(generator=seeded("cuda")), "cpu", "cuda"),
    ],
)
def test_a_generator_is_refused_on_another_device(draw: Callable[[Tensor], Tensor], place: str, found: str) -> None:
    with EmulatedCuda() as gpu, pytest.raises(RuntimeError, match=OTHER_GENERATOR.format(place, found)):
        draw(gpu.on_gpu(torch.ones(3, 4)))


def test_a_generator_of_the_device_draws_and_another_seed_draws_otherwise() -> None:
    with EmulatedCuda():
        first, again, other = (torch.rand(8, device="cuda", generator=torch.Generator("cuda").manual_seed(n)) for n in (3, 3, 4))
        assert (str(first.device), seeded("cuda").device.type, seeded("cpu").device.type) == ("cuda:0", "cuda", "cpu")
        assert first.tolist() == again.tolist() != other.tolist()


@pytest.mark.parametrize("ask", [lambda x: x.tolist(), lambda x: bool(x.all()), lambda x: torch.cuda.synchronize(), lambda x: x[0].item()])
def test_a_wait_is_an_error_where_it_is_asked_to_be(ask: Callable[[Tensor], Any]) -> None:
    with EmulatedCuda() as gpu:
        x = gpu.on_gpu(torch.ones(3))
        ask(x)
        torch.cuda.set_sync_debug_mode("error")
        with pytest.raises(RuntimeError, match=SYNCHRONIZES):
            ask(x)


def captured_draws(generator: torch.Generator | None, registered: bool) -> list[list[float]]:
    graph = torch.cuda.CUDAGraph()
    if registered and generator is not None:
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        out = torch.rand(3, device="cuda", generator=generator)
    found = []
    for _ in range(2):
        graph.replay()
        found.append(out.tolist())
    return found


@pytest.mark.parametrize("default", [True, False])
def test_a_recording_draws_anew_at_each_replay(default: bool) -> None:
    with EmulatedCuda():
        first, second = captured_draws(None if default else seeded("cuda"), registered=True)
    assert first != second


def test_a_recording_refuses_a_generator_that_it_does_not_know() -> None:
    with EmulatedCuda(), pytest.raises(RuntimeError, match=UNREGISTERED.partition(" (")[0]):
        captured_draws(seeded("cuda"), registered=False)
    with EmulatedCuda(), pytest.raises(RuntimeError, match="for generator but found"):
        captured_draws(seeded("cpu"), registered=True)


# ---- the batch's loop ------------------------------------------------------------------------------------------------


def test_the_loop_gives_the_tokens_of_the_cpu_and_waits_once_a_step_at_the_most() -> None:
    model = load_model("tiny", dtype=torch.float64).weights_only()
    choices: list[dict[str, Any]] = [{"temperature": 0.0, "eos_token_id": 5}, {"temperature": 0.8, "top_p": 0.9}]
    for options in choices:
        want = generate_batch(model, PROMPTS, max_new_tokens=STEPS, generator=seeded("cpu"), **options)
        with EmulatedCuda() as gpu:
            got = generate_batch(model, PROMPTS, max_new_tokens=STEPS, generator=seeded("cuda"), device="cuda", **options)
        assert got == want
        assert gpu.launches.waits <= STEPS + 1  # the last one reads the answers


def test_the_loop_on_a_gpu_refuses_the_cpus_generator() -> None:
    model = load_model("tiny").weights_only()
    with EmulatedCuda(), pytest.raises(RuntimeError, match=OTHER_GENERATOR.format("cuda", "cpu")):
        generate_batch(model, PROMPTS, max_new_tokens=1, generator=seeded("cpu"), device="cuda")


# ---- capture ---------------------------------------------------------------------------------------------------------


def after_the_prompts(model: Any, max_len: int, device: str) -> tuple[Tensor, Tensor, KVCache]:
    ids, num_pad = (tensor.to(device) for tensor in left_pad(PROMPTS, 0))
    cache = KVCache(model.config, len(PROMPTS), max_len, model.dtype, device)
    with torch.no_grad():
        return prefill_batch(model, ids, num_pad, cache).argmax(-1, keepdim=True), num_pad, cache


def on_the_cpu() -> list[Tensor]:
    """The logits that are due, step after step, from the growing cache."""
    model = load_model("tiny", dtype=torch.float64).weights_only()
    token, num_pad, cache = after_the_prompts(model, 4 + STEPS, "cpu")
    found = []
    with torch.no_grad():
        for _ in range(STEPS):
            found.append(prefill_batch(model, token, num_pad, cache))
            token = found[-1].argmax(-1, keepdim=True)
    return found


def fault_of(capture: Callable[..., Callable[[Tensor], Tensor]]) -> str:
    """What is wrong with it on a GPU, in words; nothing if it is right. It goes on with its own tokens, as a server does."""
    model = load_model("tiny", dtype=torch.float64).weights_only()
    with EmulatedCuda() as gpu:
        token, num_pad, cache = after_the_prompts(model, 4 + STEPS, "cpu")  # so that the GPU's library has computed nothing yet
        there = model.to(device="cuda")
        token, num_pad, keys, values = (each.to(device="cuda") for each in (token, num_pad, cache.keys, cache.values))
        got = []
        try:
            step = capture(there, num_pad, 4, keys, values)
            torch.cuda.set_sync_debug_mode("error")
            for _ in range(STEPS):
                got.append(step(token))
                token = got[-1].argmax(-1, keepdim=True)
        except (RuntimeError, IndexError) as error:
            return str(error)
        torch.cuda.set_sync_debug_mode("default")
        found = [logits.cpu() for logits in got]
        try:
            step(token)
            return "a step after the last slot is not refused"
        except IndexError:  # on a GPU an assertion of the device, which ends the process
            return "a step writes behind the last slot"
        except ValueError:
            pass
    if (gpu.launches.captures, gpu.launches.replays) != (1, STEPS):
        return f"{gpu.launches.captures} recordings, {gpu.launches.replays} replays"
    wrong = [n for n, (one, due) in enumerate(zip(found, on_the_cpu(), strict=True)) if not torch.allclose(one, due, atol=1e-9)]
    return f"wrong logits at the steps {wrong}" if wrong else ""


def edited(*edits: tuple[str, str]) -> Callable[..., Callable[[Tensor], Tensor]]:
    source = inspect.getsource(capture_decode)
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    names = dict(vars(solutions.batching))
    exec(source, names)
    return names["capture_decode"]


WAITED = "            run()\n        torch.cuda.current_stream().wait_stream(side)\n"
SYNCHRONIZE = "torch.cuda.synchronize()"
NEW_GRAPH = "graph = torch.cuda.CUDAGraph()\n            with torch.cuda.graph(graph):"
WRONG: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "gives out the memory of the recording": ("wrong logits at the steps [0, 1, 2, 3]", [("return out.clone()", "return out")]),
    "allocates the input again between replays": (
        "memory that was freed", [("nonlocal taken", "nonlocal taken, ids_in"), ("ids_in.copy_(ids)", "ids_in = ids.clone()")],
    ),
    "the slot is a number of Python": (
        "wrong logits",
        [("num_pad, position, keys, values)\n ", "num_pad, torch.full((), start, device=keys.device), keys, values)\n ")],
    ),
    "the position is not put back after the warm-up": ("out of bounds", [("        position.fill_(start)", "        pass")]),
    "the position moves on a copy": ("wrong logits", [("position.add_(1)", "position + 1")]),
    "the input lies on the CPU": ("", [("dtype=torch.int64, device=keys.device)", "dtype=torch.int64)")]),
    "asks the device inside the recording": ("capturing", [("position.add_(1)", "position.add_(int(position) * 0 + 1)")]),
    "asks whether all slots are taken": (SYNCHRONIZES, [("if taken == max_len", "if position == max_len")]),
    "copies from the CPU inside the recording": ("capturing", [("position.add_(1)", "position.copy_(torch.tensor(taken))")]),
    "makes a tensor of a Python list inside the recording": (
        "capturing", [("position.add_(1)", "position.add_(torch.tensor([1], device=keys.device)[0])")],
    ),
    "waits at each step": (SYNCHRONIZES, [("graph.replay()", f"graph.replay()\n        {SYNCHRONIZE}")]),
    "waits inside the recording": ("capturing", [("position.add_(1)", f"position.add_(1)\n            {SYNCHRONIZE}")]),
    "records without having run": ("first product", [(WAITED, WAITED.replace("run()", "pass"))]),
    "the warm-up waits for nothing": ("has not waited", [("        side.wait_stream(torch.cuda.current_stream())\n", "")]),
    "nothing waits for the warm-up": ("has not waited", [(WAITED, "            run()\n")]),
    "records again at each step": (
        "recordings",
        [
            ("nonlocal taken", "nonlocal taken, graph, out"),
            ("graph.replay()", f"{NEW_GRAPH.replace('    with', 'with')}\n            out = run()\n        graph.replay()"),
        ],
    ),
    "records inside a recording": ("capturing", [("            out = run()", f"            {NEW_GRAPH}\n                out = run()")]),
    "runs, and never records": ("0 recordings", [("if keys.is_cuda and start < max_len", "if False")]),
    "lets go of what the recording reads": ("memory that was freed", [("return run()", "raise AssertionError")]),
    "takes what the recording left, without a replay": ("0 replays", [("        graph.replay()\n", "")]),
    "does not refuse the step after the last slot": ("behind the last slot", [("if taken == max_len", "if False")]),
}  # fmt: skip


def test_the_courses_capture_has_no_fault() -> None:
    assert fault_of(capture_decode) == ""
    assert fault_of(edited()) == ""


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_capture_is_caught(mistake: str) -> None:
    said, edits = WRONG[mistake]
    fault = fault_of(edited(*edits))
    assert fault
    assert said in fault


def test_a_captured_step_starts_a_replay_and_little_else() -> None:
    model = load_model("tiny").weights_only()
    with EmulatedCuda() as gpu:
        there = model.to(device="cuda")
        token, num_pad, cache = after_the_prompts(there, 8, "cuda")
        step = capture_decode(there, num_pad, 4, cache.keys, cache.values)
        before = gpu.launches.launches
        step(token)
        assert gpu.launches.launches - before == 2  # the copy in and the copy out


# ---- what else is written for a GPU ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_check_of_tokens_and_waits_passes_with_the_reference() -> None:
    """It is skipped without a GPU: here it runs on the emulator, so that the first machine with a GPU is not the first to try it."""
    (check,) = (check for check in load_checks("batching") if check.function.__name__ == "test_tokens_and_waits_on_a_gpu")
    with EmulatedCuda():
        verdict = run_check("batching", check, LocalStudent(dict(vars(reference("batching")))))
    assert verdict.outcome == PASS, show(verdict.message)


def test_the_lessons_cell_for_a_gpu_runs_through(capsys: pytest.CaptureFixture[str]) -> None:
    lesson = (ROOT / "course" / "day11_batching" / "lesson.md").read_text(encoding="utf-8")
    start = 'if torch.cuda.is_available() and if_solved("prefill_batch"'
    cell = start + lesson.partition(start)[2]
    slots = "class AllSlots:" + lesson.partition("class AllSlots:")[2].partition("\n\n\nif if_solved")[0]
    source = slots + "\n\n" + cell.partition("\n```")[0].replace("2**26", "2**12")
    names = dict(vars(solutions.batching)) | {"time": time, "costs": solutions.costs, "if_solved": lambda *_: True}
    names["big"] = load_model("tiny")
    rungs: list[tuple[str, float, int]] = []
    names["rung"] = lambda name, tokens_per_second, *, model, batch: rungs.append((name, tokens_per_second, batch))
    with EmulatedCuda():
        exec(source, names)
    said = capsys.readouterr().out
    ((name, speed, batch),) = rungs
    assert f"{speed:.0f} tokens/s with 16 rows, roof" in said
    assert (name, batch) == ("Day 11, sixteen rows on a GPU", 16)
    exec(source, names)
    assert "nothing to measure" in capsys.readouterr().out or torch.cuda.is_available()

"""A student's day in a real browser: Lab as `make lab` starts it, the notebook solved and wrong, the playground moved."""

import json
import re
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from autograder.lessons import Day, find_day, prepare_work, syllabus
from autograder.site.execute import executed, needed

from ..support import lab
from ..support.lab import scroll_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

if lab.CHROMIUM is None:
    pytest.skip("no chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

WRONG_TOP_P = '''def top_p_probs(logits: Tensor, p: float) -> Tensor:
    probs = softmax(logits)
    sorted_probs, order = probs.sort(dim=-1, descending=True)
    keep = sorted_probs.cumsum(dim=-1) <= p
    kept = torch.zeros_like(probs).scatter(-1, order, sorted_probs * keep)
    return kept / kept.sum(dim=-1, keepdim=True)
'''

LEFT_PAD = '''def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    if not prompts or not all(prompts):
        raise ValueError("an empty prompt")
    longest = max(map(len, prompts))
    rows = [[pad_id] * (longest - len(prompt)) + prompt for prompt in prompts]
    return torch.tensor(rows), torch.tensor([longest - len(prompt) for prompt in prompts])
'''
PADS_ATTENDED = '''def positions_and_mask(num_pad: Tensor, start: int, q_len: int) -> tuple[Tensor, Tensor]:
    slots = torch.arange(start + q_len)
    positions = (slots[start:] - num_pad[:, None]).clamp(min=0)
    return positions, (slots <= slots[start:, None]).expand(len(num_pad), 1, -1, -1)
'''


@pytest.fixture(scope="module")
def browser():
    with lab.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    prepare_work(folder / "work")
    day = find_day("samplers")
    (folder / "work" / day.slug / f"{day.slug}.ipynb").unlink()
    lab.put_notebook(folder, day, solved=True, changed={"top_p_probs": WRONG_TOP_P})
    with lab.lab(folder, "--LabApp.expose_app_in_browser=True") as address:
        yield folder, address


@pytest.fixture(scope="module")
def page(browser, desk):
    """Lab, opened once: to load it takes a browser several seconds of work. Each test opens its notebook in it, as a student does."""
    page = lab.open_page(browser, f"{desk[1]}/")
    yield page
    page.close()


@pytest.fixture
def shots(request):
    folder = Path(__file__).parents[2] / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def show(page, day: Day) -> None:
    lab.open_day(page, day)
    page.wait_for_selector(".jp-NotebookPanel:visible .jp-Cell", timeout=60_000)
    page.wait_for_timeout(1500)


def test_lab_opens_on_the_map_of_the_course(page, desk, shots):
    page.wait_for_selector(".jp-NotebookPanel:visible h1", timeout=60_000)
    assert "From Prompt to Token" in page.locator(".jp-NotebookPanel:visible h1").first.inner_text()
    page.screenshot(path=shots / "start_here.png")


def test_labs_file_browser_begins_in_work_and_its_root_stays_the_checkout(page, desk):
    """Beside work/ in the root lies solutions/; paths in lessons and addresses begin at the root."""
    assert json.loads(page.locator("#jupyter-config-data").text_content())["preferredPath"] == "work"
    notebook = page.request.get(f"{desk[1]}/api/contents/work/start_here.ipynb?content=0")
    assert notebook.json()["path"] == "work/start_here.ipynb"


def test_day_5_fails_where_it_is_wrong_and_passes_once_repaired(page, desk, shots):
    day = find_day("samplers")
    show(page, day)
    lab.run_all_cells(page)

    tables = scroll_to_all(page, "top_p_probs:")
    assert "fail" in tables
    assert "Found:" in tables
    page.screenshot(path=shots / "day05_failing.png")

    passing = scroll_to_all(page, "top_k_probs:")
    assert "fail" not in passing
    page.screenshot(path=shots / "day05_passing.png")


def test_the_playground_follows_its_sliders(page, desk, shots):
    folder = desk[0]
    day = find_day("samplers")
    lab.put_notebook(folder, day, solved=True)
    show(page, day)
    lab.run_all_cells(page)
    scroll_until(page, ".widget-slider:visible")
    slider = page.locator(".widget-slider:visible .noUi-handle").first
    before = playground_state(page)
    page.screenshot(path=shots / "playground_before.png")
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    until = time.monotonic() + 60
    while playground_state(page) == before:
        assert time.monotonic() < until, "the playground does not follow its slider"
        page.wait_for_timeout(200)
    page.screenshot(path=shots / "playground_after.png")


def test_day_7_speaks(page, desk, shots):
    """The chat cell: SmolLM2's answer through the loop, on the screen."""
    show_executed(page, desk, "generation")
    scroll_until(page, ".jp-CodeCell:has-text('def chat(question') .jp-OutputArea-output")
    page.screenshot(path=shots / "day07_chat.png")
    said = page.locator(".jp-CodeCell:has-text('def chat(question') .jp-OutputArea-output").first.inner_text()
    assert len(said.split()) > 5


def test_day_9_steps_without_a_kernel(page, desk, shots):
    """The stepper through prefill and decodes follows its buttons, by keyboard."""
    show_executed(page, desk, "costs")
    roof = ".course-stepper:has([data-part=bits])"
    scroll_until(page, roof)
    page.locator(f"{roof} [data-part=next]").first.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.screenshot(path=shots / "day09_roof.png")
    assert page.locator(f"{roof} [data-part=words]").first.inner_text().startswith("256 tokens in one pass of Llama 3 8B on H100")
    stepper = ".course-stepper:has([data-part=prompt])"
    scroll_until(page, stepper)
    words = page.locator(f"{stepper} [data-part=words]").first
    before = words.inner_text()
    page.screenshot(path=shots / "day09_prefill.png")
    page.locator(f"{stepper} [data-part=next]").first.focus()
    page.keyboard.press("Enter")
    expect(words).not_to_have_text(before, timeout=20_000)
    page.screenshot(path=shots / "day09_decode.png")
    assert "refill" in before


def test_day_10_fills_a_cache_and_names_a_wrong_position(page, desk, shots):
    """Solved, SmolLM2 speaks through the cache and the stepper steps; with positions from 0 a check names the stage not reached."""
    show_executed(page, desk, "kv_cache")
    scroll_until(page, ".course-stepper")
    words = page.locator(".course-stepper [data-part=words]").first
    page.locator(".course-stepper [data-part=next]").first.focus()
    page.keyboard.press("Enter")
    expect(words).to_contain_text("So far 7 positions, without a cache 13.", timeout=20_000)
    page.screenshot(path=shots / "day10_stepper.png")
    scroll_until(page, ".jp-CodeCell:has-text('def one_by_one') .jp-OutputArea-output")
    page.screenshot(path=shots / "day10_speaks.png")

    slip = ("forward_cached", "torch.arange(start, start + t, device=ids.device)", "torch.arange(t, device=ids.device)")
    with_a_slip(page, desk, "kv_cache", slip, until='check("forward_cached")', right=("KVCache",))
    table = scroll_to_all(page, "forward_cached:")
    assert "fail" in table
    assert "those of the turned queries (layer 0) never do" in table
    page.screenshot(path=shots / "day10_failing.png")


def test_day_11_answers_eight_at_once_and_says_what_is_wrong(page, desk, shots):
    """SmolLM2 answers eight questions through the solved notebook; the table names rows that attend to pads."""
    show_executed(page, desk, "batching")
    cell = ".jp-CodeCell:has-text('def answer_all') .jp-OutputArea-output"
    scroll_until(page, cell)
    page.screenshot(path=shots / "day11_eight.png")
    said = page.locator(cell).first.inner_text()
    assert "B = 1:" in said
    assert "B = 8:" in said
    assert "Paris" in said
    scroll_until(page, ".jp-CodeCell:has-text('throughput = [') .jp-OutputArea-output img")
    page.screenshot(path=shots / "day11_throughput.png")

    folder = desk[0]
    day = find_day("batching")
    lab.put_notebook(folder, day, solved=False, changed={"left_pad": LEFT_PAD, "positions_and_mask": PADS_ATTENDED})
    show(page, day)
    lab.run_all_cells(page)
    table = scroll_to_all(page, "positions_and_mask:")
    page.screenshot(path=shots / "day11_wrong.png")
    assert "a real token, sees slot 0, a pad" in table


def test_day_12_steps_through_tiles_and_tells_a_past_that_does_not_fade(page, desk, shots):
    """The figure of one query follows its tiles and what it sees without a kernel; a sum left under the old maximum is reported."""
    slip = ("absorb", "state.l * fade", "state.l")
    with_a_slip(page, desk, "flash_attention", slip, until="from course.kit.steppers.tile_stepper", right=("finish",))
    table = scroll_to_all(page, "absorb:")
    page.screenshot(path=shots / "day12_wrong.png")
    assert "fail" in table
    assert re.search(r"finish: (\d+) of \1", scroll_to_all(page, "finish:"))
    before, stepped, chosen = steps(page, 3, shots / "day12_stepper.png", "the query sees", "keys 0 to 4")
    assert len({before, stepped, chosen}) == 3


def test_day_13_steps_through_a_pool_and_reports_a_missing_copy(page, desk, shots):
    """The pool's figure steps without a kernel's help; a fork that writes into a shared block is reported in the fewest steps."""
    slip = ("PagedSequence", "if self.tail_is_shared:", "if False:")
    with_a_slip(page, desk, "paging", slip, until="blocks_in_use()", right=("BlockPool",))
    assert re.search(r"BlockPool: (\d+) of \1\b", scroll_to_all(page, "BlockPool:"))
    table = scroll_to_all(page, "PagedSequence:")
    page.screenshot(path=shots / "day13_wrong.png")
    assert "fail" in table
    assert "fork()" in table
    scroll_until(page, ".course-stepper")
    words = page.locator(".course-stepper [data-part=words]").first
    before = words.inner_text()
    page.locator(".course-stepper [data-part=next]").first.focus()
    for _ in range(4):
        page.keyboard.press("Enter")
        page.wait_for_timeout(200)
    page.screenshot(path=shots / "day13_stepper.png")
    assert words.inner_text() != before


def test_day_14_slides_through_schedules_and_tells_who_must_not_wait_at_the_end(page, desk, shots):
    """The schedule's figure follows its sliders without a kernel; a request that gives way and goes to the end of the queue is reported."""
    slip = ("preempt", "scheduler.waiting.insert(0, request)", "scheduler.waiting.append(request)")
    with_a_slip(page, desk, "continuous_batching", slip, until="batch_by_batch()", right=("feed_running", "admit", "update"))
    table = scroll_to_all(page, "preempt:")
    page.screenshot(path=shots / "day14_wrong.png")
    assert "fail" in table
    assert re.search(r"admit: (\d+) of \1\b", scroll_to_all(page, "admit:"))
    scroll_until(page, ".course-stepper")
    figure = page.locator(".course-stepper").first
    words = figure.locator("[data-part=words]")
    before = words.inner_text()
    figure.locator("[data-part=next]").focus()
    for _ in range(6):
        page.keyboard.press("Enter")
        page.wait_for_timeout(200)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")  # JupyterLab would fold the heading above
    stepped = words.inner_text()
    figure.get_by_label("blocks of 4").focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(200)
    page.screenshot(path=shots / "day14_stepper.png")
    assert before.startswith("No step yet.")
    assert stepped.startswith("Step 6, ")
    assert "D gave way" in words.inner_text()


def test_day_15_steps_through_rounds_and_tells_a_replacement_from_the_wrong_law(page, desk, shots):
    """The figure of rounds follows its draft and its k without a kernel; a refused guess that is replaced from p is reported."""
    right = ("lookup_draft", "greedy_verify", "truncate", "filtered_probs", "acceptance_probs", "residual_probs")
    slip = ("verify_sampled", "residual_probs(p[kept], q[kept])", "p[kept]")
    with_a_slip(page, desk, "speculative", slip, until='check("verify_sampled")', right=right, without="PASS_TIMES")
    table = scroll_to_all(page, "verify_sampled:")
    page.screenshot(path=shots / "day15_wrong.png")
    assert "fail" in table
    assert re.search(r"greedy_verify: (\d+) of \1", scroll_to_all(page, "greedy_verify:"))
    before, stepped, chosen = steps(page, 3, shots / "day15_stepper.png", "the draft", "is always right")
    assert before.startswith("Nothing has been read yet.")
    assert stepped.startswith("Pass 2: 0 of 4 guesses stay.")
    assert chosen.startswith("Pass 2: 4 of 4 guesses stay.")


def test_day_16_draws_the_marks_of_a_row_and_tells_a_block_written_for_a_scale_that_nobody_reads(page, desk, shots):
    """A row's marks are drawn, the picture of a block is there; numbers for scale and minimum before float16 rounded them are reported."""
    right = ("quantize_affine", "dequantize", "pack_nibbles", "unpack_nibbles", "read_q4_1")
    slip = ("write_q4_1", "    scale, minimum = head.float().split(1, dim=-1)  # what will be read\n", "")
    with_a_slip(page, desk, "quantization", slip, until='check("write_q4_1")', right=right, without="load_blocks(")
    table = scroll_to_all(page, "write_q4_1:")
    page.screenshot(path=shots / "day16_wrong.png")
    assert "fail" in table
    assert "before they were rounded to float16" in table
    assert re.search(r"read_q4_1: (\d+) of \1", scroll_to_all(page, "read_q4_1:"))
    page.screenshot(path=shots / "day16_right.png")
    scroll_until(page, "img[alt^='The first block']")
    page.screenshot(path=shots / "day16_block.png")
    marks = ".jp-OutputArea-output:has-text('marks of the row')"
    scroll_until(page, marks)
    page.screenshot(path=shots / "day16_marks.png")
    assert "16 of 16 used" in page.locator(marks).first.inner_text()


def test_day_17_goes_around_a_ring_and_tells_a_head_dealt_out_like_a_card(page, desk, shots):
    """The ring's figure follows its way and its ranks without a kernel; key/value heads that other queries read are reported."""
    right = ("column_shard", "row_shard", "ring_reduce_scatter", "ring_all_gather", "ring_all_reduce")
    slip = ("kv_heads_of", "rank * K // world", "rank * K // world if world <= K else rank % K")
    with_a_slip(page, desk, "parallel", slip, until='check("ring_all_reduce")', right=right)
    table = scroll_to_all(page, "kv_heads_of:")
    page.screenshot(path=shots / "day17_wrong.png")
    assert "fail" in table
    assert "[[0], [1], [0], [1]]" in table
    assert re.search(r"ring_all_reduce: (\d+) of \1", scroll_to_all(page, "ring_all_reduce:"))
    scroll_until(page, "img[alt^='A matrix W']")
    page.screenshot(path=shots / "day17_cuts.png")
    before, stepped, chosen = steps(page, 3, shots / "day17_stepper.png", "the sum is made", "through rank 0")
    assert before.startswith("Nothing has been sent")
    assert stepped.startswith("Round 3 of 6")
    assert "Each rank has one chunk of the sum" in stepped
    assert chosen.startswith("Round 2 of 2: rank 0 sends the sum to ranks 1, 2 and 3.")


def test_day_18_steps_through_a_queue_and_tells_a_reader_who_left_and_is_not_aborted(page, desk, shots):
    """The queue figure follows its list without a kernel; a closed tab whose request goes on is reported; a real client gets an answer."""
    right = ("sse_event", "SSEParser", "parse_params", "token_logprobs", "TextStream")
    slip = ("AsyncEngine", "            self.core.abort(request_id)\n", "            pass\n")
    with_a_slip(page, desk, "serving", slip, until='check("AsyncEngine")', right=right)
    table = scroll_to_all(page, "AsyncEngine:")
    page.screenshot(path=shots / "day18_wrong.png")
    assert "fail" in table
    assert re.search(r"TextStream: (\d+) of \1", scroll_to_all(page, "TextStream:"))
    before, stepped, chosen = steps(page, 5, shots / "day18_stepper.png", "a closed tab", "is never noticed")
    assert before.startswith("No step yet.")
    assert stepped.startswith("Step 5, 80 to 100 ms: a token for A. A token of B for nobody. A ended. Running: nobody. Waiting: C, D.")
    assert "67 tokens, 47 of them for nobody; refused: E, G" in chosen

    show_executed(page, desk, "serving")
    curve = ".jp-CodeCell:has-text('speed.axhline(400') .jp-OutputArea-output img"
    scroll_until(page, curve)
    page.screenshot(path=shots / "day18_knee.png")
    said = ".jp-CodeCell:has-text('def my_server') .jp-OutputArea-output"
    scroll_until(page, said)
    page.screenshot(path=shots / "day18_client.png")
    assert "The| capital| of| France| is| Paris|.|" in page.locator(said).first.inner_text()


def with_a_slip(page, desk, topic: str, slip: tuple[str, str, str], *, until: str, right: tuple[str, ...], without: str | None = None):
    """Opens the day up to the cell that has `until` in it, with one exercise wrong and some right, and runs its cells.

    slip: the exercise, what stands once in its answer, and what stands there instead. without: what cells that are left out have in them.
    """
    folder = desk[0]
    day = find_day(topic)
    solved = lab.answers(day)
    exercise, due, instead = slip
    assert solved[exercise].count(due) == 1
    changed = {exercise: solved[exercise].replace(due, instead), **{name: solved[name] for name in right}}
    path = lab.put_notebook(folder, day, solved=False, changed=changed)
    notebook = nbformat.read(path, as_version=4)
    last = next(i for i, cell in enumerate(notebook.cells) if until in cell.source)
    notebook.cells = [cell for cell in notebook.cells[: last + 1] if without is None or without not in cell.source]
    nbformat.write(notebook, path)
    show(page, day)
    lab.run_all_cells(page)


def steps(page, times: int, shot: Path, label: str, option: str) -> tuple[str, str, str]:
    """What a day's figure says at first, after so many steps by the keyboard (a picture is taken), and with another choice in its list."""
    scroll_until(page, ".course-stepper")
    figure = page.locator(".course-stepper").first
    words = figure.locator("[data-part=words]")
    before = words.inner_text()
    figure.locator("[data-part=next]").focus()
    for _ in range(times):
        page.keyboard.press("Enter")
        page.wait_for_timeout(200)
    stepped = words.inner_text()
    page.screenshot(path=shot)
    figure.get_by_label(label).select_option(option)
    page.wait_for_timeout(200)
    return before, stepped, words.inner_text()


def show_executed(page, desk, topic: str):
    """Opens the solved day as it was executed from top to bottom (`test_days.py`: no cell fails), as one that this reader trusts."""
    folder = desk[0]
    day = find_day(topic)
    notebook = executed(needed(day, [day for day in syllabus() if day.ready]))[day.slug]
    path = lab.put_notebook(folder, day, solved=True)
    nbformat.write(notebook, path)
    NotebookNotary(data_dir=str(folder / "data")).sign(notebook)
    show(page, day)


def playground_state(page) -> str:
    """The playground's picture and words: they change when a slider does."""
    area = page.locator(".jp-OutputArea-output:visible").filter(has=page.locator(".widget-slider")).first
    images = area.locator("img")
    sources = [images.nth(i).get_attribute("src") or "" for i in range(images.count())]
    return area.inner_text() + "".join(sources)


def scroll_to_all(page, caption: str) -> str:
    """Scrolls to the check table whose caption begins so; gives its text."""
    selector = f".check-table:has(caption:text('{caption}'))"
    scroll_until(page, selector)
    return page.locator(selector).first.inner_text()


SLIPS = {
    "endless": "def softmax(logits):\n    while True:\n        pass",
    "input": "def softmax(logits):\n    return input('and now?')",
    "exit": "import sys\ndef softmax(logits):\n    sys.exit(3)",
    "none": "def softmax(logits):\n    logits.softmax(dim=-1)",
    "parameters": "def softmax(logits, dim):\n    return logits.softmax(dim)",
    "did_not_run": "def softmax(logits:\n    return logits",
}


def test_a_students_slips_end_in_a_table(page, desk, shots):
    """Each in a cell and a check below it; the kernel is idle at the end, and nothing shows a traceback of ours."""
    folder = desk[0]
    day = find_day("softmax")
    path = lab.put_notebook(folder, day, solved=False)
    notebook = nbformat.read(path, as_version=4)
    cells = [source for name, slip in SLIPS.items() for source in (slip, f'print("{name}")\ncheck("softmax")')]
    notebook.cells = [cell for cell in notebook.cells if cell.id == "setup"] + [nbformat.v4.new_code_cell(source) for source in cells]
    nbformat.write(notebook, path)
    show(page, day)
    run_each_cell(page, len(notebook.cells))
    for name in SLIPS:
        selector = f".jp-CodeCell:has-text('print(\"{name}\")') .jp-OutputArea"
        scroll_until(page, selector)
        page.screenshot(path=shots / f"slip_{name}.png")
        text = page.locator(selector).first.inner_text()
        assert ("softmax: 0 of " in text) == (name != "did_not_run"), text
        assert "runner.py" not in text
        assert "ipykernel" not in text
        assert "execute_request" not in text
        if name == "did_not_run":
            assert "failed when you last ran it: SyntaxError in line 1. Nothing was checked. Your last working version passed 0 of" in text


def run_each_cell(page, count: int, seconds: float = 240) -> None:
    """Runs cell after cell, as a person does: a SyntaxError stops Run All."""
    idle = page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status='idle']")
    idle.wait_for(state="attached", timeout=seconds * 1000)
    page.locator(".jp-NotebookPanel:visible .jp-Cell").first.click()
    for _ in range(count):
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(1000)
        idle.wait_for(state="attached", timeout=seconds * 1000)

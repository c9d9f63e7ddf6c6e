"""The chat page of `make serve` in a real browser, over a server with `tiny`: what it shows, whom it asks, and who can use it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from course.kit.serving.web import PAGE

from ..support import axe, lab
from ..support.served import Running, running, tiny

pytestmark = [pytest.mark.browser, pytest.mark.slow]

if lab.CHROMIUM is None:
    pytest.skip("no chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.fixture(scope="module")
def served():
    with running(tiny(), rows=2, waiting=1) as it:
        yield it


@pytest.fixture(scope="module")
def browser():
    with lab.chromium() as browser:
        yield browser


@pytest.fixture
def page(browser, served):
    """The page; whatever the browser complains of fails the test."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    yield opened(page, served)
    page.close()
    assert page.complaints == []


def opened(page, served: Running):
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.goto(served.base)
    page.locator("#model", has_text="tiny").wait_for()
    return page


def settings(page, **values: object) -> None:
    page.locator("summary").click()
    for name, value in values.items():
        page.fill(f"#{name}", str(value))
    page.locator("summary").click()


def ask(page, text: str) -> None:
    page.fill("#message", text)
    page.keyboard.press("Enter")
    page.locator("#send", has_text="Stop").wait_for()


def answered(page):
    page.locator("#send", has_text="Send").wait_for(timeout=60_000)
    return page.locator(".answer").last


def test_an_answer_is_shown_token_by_token_with_what_the_model_thought(served, page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    settings(page, temperature=1, top_p=1, seed=5, max_tokens=40)
    ask(page, "Speak, I charge thee.")
    answer = answered(page)
    body = {
        "messages": [{"role": "user", "content": "Speak, I charge thee."}], "temperature": 1, "top_p": 1, "seed": 5, "max_tokens": 40,
        "logprobs": True, "top_logprobs": 5,
    }  # fmt: skip
    whole = served.client().chat.completions.create(model="tiny", **body).choices[0]
    said = answer.locator(".said").evaluate("(e) => [...e.querySelectorAll('.t:not(.end)')].map((t) => t.textContent).join('')")
    assert said == whole.message.content
    tokens = answer.locator(".t:not(.end)")
    tints = [float(tokens.nth(i).evaluate("(e) => e.style.getPropertyValue('--s')")) for i in range(tokens.count())]
    assert max(tints) > 0.5 > 0.1 > min(tints)
    figures = answer.locator(".figures").inner_text().split("\n")
    assert figures[::2] == ["TTFT", "ITL mean", "ITL worst", "tokens/s", "tokens", "ended by"]
    assert figures[9:] == ["40", "ended by", "length"]
    mean, worst = (int(re.match(r"\d+", figures[i])[0]) for i in (3, 5))
    assert mean <= worst
    assert float(figures[7]) > 0
    heard = " ".join(page.locator("#heard p").all_inner_texts())
    assert "".join(heard.split()) == "".join(said.split())  # a reader of screens hears all of it, once
    assert asked
    assert {url.removeprefix(served.base).partition("?")[0] for url in asked} == {"/v1/chat/completions", "/metrics"}


def test_the_five_best_are_shown_to_the_pointer_and_to_the_keyboard(page):
    settings(page, temperature=0, max_tokens=12)
    ask(page, "Speak.")
    tokens = answered(page).locator(".t")
    card = page.locator("#card")
    assert card.is_hidden()
    tokens.nth(3).hover()
    card.wait_for()
    rows = card.locator("li")
    assert rows.count() == 5
    shares = [float(text.split("\n")[-1].split()[-2]) for text in rows.all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert rows.first.get_attribute("class") == "drawn"  # greedy: the best of all
    assert card.locator("p").inner_text().split("\n")[1] == f"{shares[0]:.1f} %"
    card.hover()  # the pointer may go there
    page.wait_for_timeout(400)
    assert card.is_visible()
    page.mouse.move(5, 5)
    card.wait_for(state="hidden")

    page.locator("#message").focus()
    while not page.evaluate("document.activeElement.matches('.t')"):
        page.keyboard.press("Shift+Tab")
    first = page.evaluate("document.activeElement.textContent")
    card.wait_for()
    assert page.locator(".t:focus").get_attribute("aria-describedby") == "card"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement === document.querySelectorAll('.t')[1]")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement === [...document.querySelectorAll('.t')].at(-1)")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.textContent") == first
    page.keyboard.press("Escape")
    assert card.is_hidden()
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.matches('.t')")  # one stop an answer


def test_a_later_answer_is_followed_in_a_low_window(browser, served):
    """Its last token and its figures stand above the form, where a reader looks who has touched nothing."""
    page = opened(browser.new_page(viewport={"width": 800, "height": 560}), served)
    settings(page, temperature=0, max_tokens=60)
    for text in ("Speak, I charge thee.", "And again, and at some length."):
        ask(page, text)
        answer = answered(page)
    low = answer.locator(".figures").evaluate("e => e.getBoundingClientRect().bottom")
    form = page.locator("#form").evaluate("e => e.getBoundingClientRect().top")
    page.close()
    assert 0 < low <= form
    assert page.complaints == []


def test_stop_frees_the_request_and_the_conversation_goes_on(served, page):
    free = served.core.num_free_blocks
    settings(page, temperature=1, seed=1, max_tokens=1500)
    ask(page, "Speak on.")
    page.locator("#load", has_text="1 running, 0 waiting").wait_for()
    page.locator("#send").click()
    answer = answered(page)
    assert answer.locator(".figures").inner_text().endswith("Stop")
    assert answer.locator(".t").count() > 0
    assert served.at_rest() == (0, 0, free)
    page.locator("#load", has_text="0 running, 0 waiting").wait_for()
    settings(page, max_tokens=5)
    with page.expect_request("**/v1/chat/completions") as sent:
        ask(page, "And again.")
    roles = [message["role"] for message in sent.value.post_data_json["messages"]]
    assert roles == ["user", "assistant", "user"]
    answered(page)
    page.locator("#clear").click()
    assert page.locator(".turn").count() == 0
    assert page.locator("#welcome").is_visible()


def test_a_closed_tab_frees_its_request(browser, served):
    page, free = opened(browser.new_page(), served), served.core.num_free_blocks
    settings(page, temperature=1, seed=1, max_tokens=1500)
    ask(page, "Speak on.")
    page.locator(".t").first.wait_for()
    assert served.core.num_running == 1
    page.close()
    assert served.at_rest() == (0, 0, free)


def test_a_refusal_is_reported_and_the_question_is_not_lost(served, browser):
    page = opened(browser.new_page(), served)
    question = "Speak." * 2000
    page.fill("#message", question)
    page.keyboard.press("Enter")
    page.locator("[role=alert]").wait_for()
    assert "the prompt has" in page.locator("[role=alert]").inner_text()
    assert page.locator("#message").input_value() == question
    assert page.locator(".turn").count() == 0
    settings(page, max_tokens=3)
    page.fill("#message", "Speak.")
    page.locator("#send").click()
    answered(page).locator(".t").first.wait_for()
    assert page.locator("[role=alert]").count() == 0
    page.context.set_offline(True)
    page.fill("#message", "Are you there?")
    page.keyboard.press("Enter")
    page.locator("[role=alert]", has_text="does not answer").wait_for()
    page.close()


def test_with_a_key_the_page_asks_for_it_and_then_answers(browser):
    with running(tiny(), key="sesame") as locked:
        page = browser.new_page()
        page.goto(locked.base)
        field = page.get_by_label("This server needs a key.")
        field.wait_for()
        assert axe.violations(page) == []
        field.fill("open")
        page.keyboard.press("Enter")
        page.get_by_label("The server has another key.").fill("sesame")
        page.keyboard.press("Enter")
        page.locator("#model", has_text="tiny").wait_for()
        assert page.locator("#lock").is_hidden()
        settings(page, temperature=0, max_tokens=5)
        for _ in range(2):
            ask(page, "Speak.")
            assert answered(page).locator(".t").count() > 0
            page.reload()  # the tab still has the key
            page.locator("#model", has_text="tiny").wait_for()
            settings(page, max_tokens=5)
        page.close()


def test_a_server_without_a_key_asks_for_none(page):
    assert page.locator("#lock").is_hidden()


def entry(text: str, data: bytes, logprob: float) -> dict:
    one = {"token": text, "bytes": list(data), "logprob": logprob}
    return {**one, "top_logprobs": [one]}


def test_what_a_model_says_is_text_and_never_markup(page):
    """Events that no model gave: markup, a character of two tokens, the EOS."""
    markup = "<img src=x onerror=\"document.title='taken'\"><b>"
    violin = "\U0001f3bb".encode()
    pieces = [
        ({"role": "assistant", "content": ""}, None, None),
        ({"content": markup}, [entry(markup, markup.encode(), -0.1)], None),
        ({"content": "\U0001f3bb"}, [entry("\ufffd", violin[:2], -1.0), entry("\ufffd", violin[2:], -0.5)], None),
        ({}, [entry("<|im_end|>", b"<|im_end|>", -0.2)], "stop"),
    ]
    events = "".join(
        "data: " + json.dumps({"choices": [{"delta": delta, "finish_reason": reason, "logprobs": found and {"content": found}}]}) + "\n\n"
        for delta, found, reason in pieces
    )
    answer = {"status": 200, "content_type": "text/event-stream", "body": events + "data: [DONE]\n\n"}
    page.route("**/v1/chat/completions", lambda route: route.fulfill(**answer))
    page.fill("#message", markup)
    page.keyboard.press("Enter")
    page.locator(".end").wait_for()
    answer = answered(page)
    assert [answer.locator(".t").nth(i).inner_text() for i in range(3)] == [markup, "\U0001f3bb", "end"]
    assert page.locator(".user .said").inner_text() == markup
    assert page.title() == "tiny, From Prompt to Token"
    assert page.locator("main img, main b, #heard img").count() == 0
    answer.locator(".t").nth(1).hover()
    assert page.locator("#card p").count() == 2  # both tokens of the character
    assert answer.locator(".figures").inner_text().split("\n")[9] == "4"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_everybody_can_use_it(browser, served, theme, width):
    page = opened(browser.new_page(viewport={"width": width, "height": 844}, color_scheme=theme), served)
    SHOTS.mkdir(parents=True, exist_ok=True)
    assert axe.violations(page) == []
    page.screenshot(path=SHOTS / f"chat_{theme}_{width}_empty.png")
    settings(page, temperature=1.4, top_p=1, seed=3, max_tokens=80)
    ask(page, "Speak, I charge thee, speak.")
    tokens = answered(page).locator(".t")
    tokens.nth(6).focus()
    page.locator("#card").wait_for()
    page.screenshot(path=SHOTS / f"chat_{theme}_{width}_answer.png")
    box = page.locator("#card").bounding_box()
    assert 0 <= box["x"] <= box["x"] + box["width"] <= width
    assert axe.violations(page) == []
    page.locator("summary").click()
    assert axe.violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    strongest = max(range(tokens.count()), key=lambda i: float(tokens.nth(i).evaluate("(e) => e.style.getPropertyValue('--s')")))
    tokens.nth(strongest).evaluate("(e) => e.style.setProperty('--s', 1)")
    assert tokens.nth(strongest).evaluate(CONTRAST) >= 4.5
    page.close()


CONTRAST = """(element) => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    const over = (...colours) => {
        for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
        const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => linear(v / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = getComputedStyle(document.body).backgroundColor, own = getComputedStyle(element);
    const lights = [over(paper, own.backgroundColor), over(own.color)].sort();
    return (lights[1] + 0.05) / (lights[0] + 0.05);
}"""
"""Of a text and the tint it stands on, which lies on the page's: WCAG's ratio. axe does not look through the mixing."""


def test_the_page_is_one_file_that_names_nobody_else(served):
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert "innerHTML" not in text
    assert re.findall(r"""(?:src|href)=["'](?!data:)""", text) == []
    import httpx

    policy = httpx.get(served.base).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy

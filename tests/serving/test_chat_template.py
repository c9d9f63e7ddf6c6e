"""Chat templates of models' own: the text that Hugging Face's library makes of them, and one clear line where a template fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from autograder.base.errors import CourseError
from autograder.cli import main
from autograder.serving.chat_template import ChatTemplate, renderer
from course.kit import load_tokenizer, paths
from course.kit.serving import RequestError
from solutions.tokenizer import render_chat

from ..support.served import command

CHATML = """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nYou are a player.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not tools) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
LLAMA_3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
    "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
MISTRAL = """{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{% endif %}
{% if message['role'] == 'user' %}
{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}
{{ message['content'] + eos_token }}{% endif %}
{% endfor %}"""
TALK = [
    {"role": "user", "content": " Speak, I charge thee. "}, {"role": "assistant", "content": "\u201cWho?\u201d"},
    {"role": "user", "content": "{{ 7 * 7 }}"},
]  # fmt: skip
SYSTEM = [{"role": "system", "content": "You are a king."}, *TALK]


def tokenizer() -> Any:
    return load_tokenizer("tiny")


BOS, EOS = (tokenizer().id_to_token[token] for token in (tokenizer().bos_token_id, tokenizer().eos_token_id))


@pytest.mark.parametrize(
    ("template", "messages", "text"),
    [
        (CHATML, TALK, "<|im_start|>system\nYou are a player.<|im_end|>\n<|im_start|>user\n Speak, I charge thee. <|im_end|>\n"
         "<|im_start|>assistant\n\u201cWho?\u201d<|im_end|>\n<|im_start|>user\n{{ 7 * 7 }}<|im_end|>\n<|im_start|>assistant\n"),
        (LLAMA_3, SYSTEM, f"{BOS}<|start_header_id|>system<|end_header_id|>\n\nYou are a king.<|eot_id|>"
         "<|start_header_id|>user<|end_header_id|>\n\nSpeak, I charge thee.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
         "\u201cWho?\u201d<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{{ 7 * 7 }}<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        (MISTRAL, TALK, f"{BOS}[INST]  Speak, I charge thee.  [/INST]\u201cWho?\u201d{EOS}[INST] {{{{ 7 * 7 }}}} [/INST]"),
    ],
    ids=["ChatML", "Llama 3", "Mistral"],
)  # fmt: skip
def test_a_template_gives_the_text_that_hugging_faces_library_gives(template, messages, text):
    from transformers import PreTrainedTokenizerFast

    assert ChatTemplate(template, tokenizer())(messages) == text
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(paths.TINY / "tokenizer.json"), bos_token=BOS, eos_token=EOS)
    assert theirs.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=True) == text


def test_what_a_template_may_use():
    made = ChatTemplate("{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m | tojson }}{% endfor %}", tokenizer())
    assert made(TALK) == '{"role": "user", "content": " Speak, I charge thee. "}'
    assert ChatTemplate("{{ strftime_now('%Y') }}", tokenizer())(TALK).isdecimal()


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (MISTRAL, "Conversation roles must alternate user/assistant/user/assistant/..."),
        ("{{ messages.__class__.__mro__[1].__subclasses__() }}", "access to attribute '__class__' of 'list' object is unsafe."),
        ("{{ messages.append(1) }}", "access to attribute 'append' of 'list' object is unsafe."),
        ("{{ range(999999) | list }}", "Range too big"),
        ("{{ messages[0].content + 1 }}", "can only concatenate str"),
        ("{{ messages[9].content.x }}", "has no element 9"),
        ("{{ 1 / 0 }}", "division by zero"),
    ],
)
def test_a_template_that_fails_is_one_line_for_the_client(template, why):
    with pytest.raises(RequestError, match="the model's chat template does not accept these messages: ") as refused:
        ChatTemplate(template, tokenizer())(SYSTEM)
    error = refused.value.body["error"]
    assert why in error["message"]
    assert "\n" not in error["message"]
    assert (refused.value.status, error["param"]) == (400, "messages")
    with pytest.raises(RequestError, match="gives no text"):
        ChatTemplate("{% if tools %}a{% endif %}", tokenizer())(SYSTEM)


@pytest.mark.parametrize("template", ["{% for m in messages %}", "\n{{ a b }}", "{% generation %}a", "{{ a | nofilter }}"])
def test_a_template_that_cannot_be_read_ends_the_command_with_one_line(template):
    with pytest.raises(CourseError, match=r"^the model's chat template cannot be read: line \d+: [^\n]+$"):
        ChatTemplate(template, tokenizer())


def test_each_model_gets_its_own_template(tmp_path: Path):
    assert renderer("smollm2", tokenizer()) is renderer("tiny", tokenizer()) is render_chat
    assert renderer(str(tmp_path), tokenizer()) is render_chat  # nothing is written there
    config = tmp_path / "tokenizer_config.json"
    other = '{"chat_template": [{"name": "tool_use", "template": "a"}]}'
    for damaged in ("[", "[1]", '{"chat_template": 5}', '{"chat_template": ""}', other):
        config.write_text(damaged)
        assert renderer(str(tmp_path), tokenizer()) is render_chat
    shutil.copy(paths.SMOLLM2_TOKENIZER / "tokenizer_config.json", config)
    assert renderer(str(tmp_path), tokenizer()) is render_chat  # SmolLM2's own
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "by name"}]
    config.write_text(json.dumps({"chat_template": named}))
    assert renderer(str(tmp_path), tokenizer())(TALK) == "by name"
    (tmp_path / "chat_template.jinja").write_text("by file")
    assert renderer(str(tmp_path), tokenizer())(TALK) == "by file"


def test_the_template_of_a_gguf_file_is_read(tmp_path: Path):
    import gguf

    path = tmp_path / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_chat_template(LLAMA_3)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert renderer(str(path), tokenizer())(TALK) == ChatTemplate(LLAMA_3, tokenizer())(TALK)


def test_a_served_folder_answers_in_its_own_template(tmp_path: Path):
    folder = tmp_path / "player"
    shutil.copytree(paths.TINY, folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": MISTRAL}))
    with command("--model", str(folder), "--max-len", "60") as served:
        assert "Conversations are written in the model's own chat template." in served.printed
        counted = httpx.post(f"{served.base}/tokenize", json={"messages": TALK}).json()
        assert counted["tokens"] == tokenizer().encode(ChatTemplate(MISTRAL, tokenizer())(TALK))
        refused = httpx.post(f"{served.base}/v1/chat/completions", json={"messages": SYSTEM})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "messages")
        assert "roles must alternate" in refused.json()["error"]["message"]
        answer = httpx.post(f"{served.base}/v1/chat/completions", json={"messages": TALK[:1], "max_tokens": 2}, timeout=60)
        assert answer.json()["usage"]["prompt_tokens"] == len(tokenizer().encode(ChatTemplate(MISTRAL, tokenizer())(TALK[:1])))


def test_a_folder_whose_template_cannot_be_read_is_not_served(tmp_path: Path, capsys, monkeypatch):
    folder = tmp_path / "player"
    shutil.copytree(paths.TINY, folder)
    (folder / "chat_template.jinja").write_text("{% if %}")
    monkeypatch.setattr("sys.argv", ["autograder", "serve", "--port", "0", "--model", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    why = "line 1: Expected an expression, got 'end of statement block'"
    assert capsys.readouterr().err == f"autograder: the model's chat template cannot be read: {why}\n"

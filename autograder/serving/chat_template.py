"""A model's own chat template, run in jinja2's sandbox, for models that were not trained with SmolLM2's template."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from jinja2.exceptions import TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from course.kit import Tokenizer, paths
from course.kit.models.gguf_file import GGUFFile
from course.kit.serving import RequestError
from solutions.tokenizer import render_chat

from ..base.errors import CourseError

CONFIG = "tokenizer_config.json"
RenderChat = Callable[[list[dict[str, str]]], str]


def renderer(model: str, tokenizer: Tokenizer) -> RenderChat:
    """Return the function that writes a conversation for this model: Day 2's for the course's models and for files without a template.

    model: smollm2, tiny, or the path of a .gguf file or a folder. Raises CourseError for a template that cannot be read.
    """
    template = None if model in ("smollm2", "tiny") else find_template(Path(model).expanduser())
    if template is None or template == json_object(paths.SMOLLM2_TOKENIZER / CONFIG)["chat_template"]:
        return render_chat
    return ChatTemplate(template, tokenizer)


def find_template(path: Path) -> str | None:
    """Return the template of a .gguf file, or of a folder: in chat_template.jinja, or in tokenizer_config.json. None if it has none."""
    if path.is_file():
        found = GGUFFile(path).metadata.get("tokenizer.chat_template")
    elif (file := path / "chat_template.jinja").is_file():
        found = file.read_text(encoding="utf-8")
    else:
        found = json_object(path / CONFIG).get("chat_template")
        if isinstance(found, list):  # several, by name
            found = next((each.get("template") for each in found if isinstance(each, dict) and each.get("name") == "default"), None)
    return found if isinstance(found, str) and found else None


def json_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if the file cannot be read or holds no object."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class ChatTemplate:
    """A template that can be called as `render_chat`. Its environment is the one of Hugging Face's `apply_chat_template`."""

    def __init__(self, source: str, tokenizer: Tokenizer) -> None:
        """Compile the template. Raises CourseError, one line, if that fails."""
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.filters["tojson"] = _to_json
        environment.globals |= {"raise_exception": _raise, "strftime_now": time.strftime}
        names = {"bos_token": tokenizer.bos_token_id, "eos_token": tokenizer.eos_token_id}
        self._tokens = {name: tokenizer.id_to_token[token] for name, token in names.items() if token is not None}
        try:
            self._template = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise CourseError(f"the model's chat template cannot be read: line {error.lineno}: {_line(error)}") from None
        except (TemplateError, RecursionError) as error:
            raise CourseError(f"the model's chat template cannot be read: {_line(error)}") from None

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """Return the text of a conversation, up to the point where the assistant is to speak. Raises RequestError if the template fails."""
        try:
            text = self._template.render(messages=[dict(message) for message in messages], add_generation_prompt=True, **self._tokens)
        except Exception as error:  # a template can fail as any program can
            raise RequestError(f"the model's chat template does not accept these messages: {_line(error)}", param="messages") from None
        if not text:
            raise RequestError("the model's chat template gives no text for these messages", param="messages")
        return text


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _to_json(value: Any, indent: int | None = None) -> str:
    """Return JSON as it is; jinja2's own filter escapes it for HTML."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _line(error: Exception) -> str:
    """Return an error's message on one line."""
    return " ".join(str(error).split()) or type(error).__name__

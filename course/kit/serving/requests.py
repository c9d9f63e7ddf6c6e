"""A client's request before any of it is answered: its JSON, its prompt, and the unsupported fields."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from starlette.requests import Request

from ..models.tokenizer import Tokenizer
from .messages import RequestError

MAX_BODY_BYTES = 1_000_000
BODY_SECONDS = 30.0
"""The seconds that a client may take to send a request's body."""
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
"""The roles: {a client's role: the one that the model's template knows}."""
MAX_N = 128
"""The limit of answers to a prompt, as in OpenAI's API."""
NOT_DONE: dict[str, tuple[Any, ...]] = {
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "suffix": ("",),
}
"""The unsupported fields of OpenAI's API, and of others' servers, that would change the answer.

Each has the values that ask for nothing.
"""
READ = frozenset({
    "model", "messages", "prompt", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "best_of", "seed", "stop",
    "logprobs", "top_logprobs", "stream", "stream_options", "top_k", "min_p", "typical_p", "repetition_penalty", "presence_penalty",
    "frequency_penalty", "logit_bias", "stop_token_ids", "ignore_eos", "min_tokens", "cache_salt", "echo",
})  # fmt: skip
OTHERS_FIELDS: dict[bool, dict[str, tuple[Any, ...]]] = {
    True: {"prompt": (), "echo": (False,)},
    False: {"messages": (), "top_logprobs": ()},
}
"""{whether a request is a chat: fields of the other kind of request, which would be ignored, each with the values that ask for nothing}."""
NO_MATTER = frozenset({
    "user", "store", "metadata", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "parallel_tool_calls",
})  # fmt: skip
"""The fields that change no answer here, with any value."""


async def read_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request's body.

    Raises RequestError: 413 for more than MAX_BODY_BYTES, 408 for a body that has not arrived within BODY_SECONDS, 400 for anything but an
    object.

    A body that is too large is read to its end and discarded, because a client that is still writing would not see the answer. Reading
    stops at ten times MAX_BODY_BYTES.
    """
    body, num_bytes = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                num_bytes += len(piece)
                if num_bytes <= MAX_BODY_BYTES:
                    body += piece
                elif num_bytes > 10 * MAX_BODY_BYTES:
                    break
    except TimeoutError:
        raise RequestError(f"the body did not arrive within {BODY_SECONDS:g} s", status=408, code="request_timeout") from None
    if num_bytes > MAX_BODY_BYTES:
        raise RequestError(f"the body is larger than {MAX_BODY_BYTES:,} bytes", status=413, code="request_too_large")
    try:
        found = json.loads(bytes(body))
    except (ValueError, RecursionError) as error:  # no UTF-8 is a ValueError too
        raise RequestError("a number in the body has too many digits" if "digits" in str(error) else "the body is not JSON") from None
    if not isinstance(found, dict):
        raise RequestError(f"the body must be a JSON object, got {found!r:.60}")
    return found


def check_fields(body: dict[str, Any], model: str, *, chat: bool) -> None:
    """Raise RequestError for a model that is not served (404), and for any field that is not supported in this kind of request."""
    asked = body.get("model")
    if asked is not None and asked != model:
        raise unknown_model(asked, model)
    n = num_samples(body)
    for name, harmless in {**NOT_DONE, "best_of": (n,)}.items():
        if asks(body.get(name), harmless):
            raise RequestError(f"{name} is not supported", param=name, code="unsupported_parameter")
    for name, harmless in OTHERS_FIELDS[chat].items():
        if asks(body.get(name), harmless):
            other = "/v1/completions" if chat else "/v1/chat/completions"
            raise RequestError(f"{name} is a field of {other}", param=name, code="unsupported_parameter")
    require_known(body, READ | NOT_DONE.keys() | NO_MATTER)
    options = body.get("stream_options")
    require_known(options if isinstance(options, dict) else {}, {"include_usage", "include_obfuscation"}, "stream_options.")


def num_samples(body: dict[str, Any]) -> int:
    """Return the number of answers to each prompt. Raises RequestError."""
    n = 1 if body.get("n") is None else body["n"]
    if type(n) is not int or not 1 <= n <= MAX_N:
        raise RequestError(f"n must be a whole number from 1 to {MAX_N}, got {n!r:.60}", param="n")
    return n


def asks(value: Any, harmless: tuple[Any, ...]) -> bool:
    """Return True if a field's value is neither null nor one of the values that ask for nothing. false is not 0, and true is not 1."""
    return value is not None and not any(type(value) is type(each) and value == each for each in harmless)


def require_known(given: Mapping[str, Any], known: AbstractSet[str], before: str = "") -> None:
    """Raise RequestError for a field that is neither known nor null. before: what precedes the field's name in the error."""
    for name, value in given.items():
        if value is not None and name not in known:
            raise RequestError(f"{before + name!r:.80} is not supported", param=f"{before + name:.80}", code="unsupported_parameter")


def asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that ask for something: without null, false, 0, and empty texts, lists and objects."""
    return {name: value for name, value in given.items() if value}


def as_contract(body: dict[str, Any], *, chat: bool, room: int, defaults: Mapping[str, float]) -> dict[str, Any]:
    """Return a request in the form of Day 18's `parse_params`, which does not know all that clients send.

    - A field of `defaults`, such as the model's temperature, has this value if the request leaves it out.
    - An empty list of stops is no stop.
    - n is left out: each answer is a request of its own to the engine.
    - In a completion, max_completion_tokens is a name of max_tokens.
    - If the request echoes its prompt and wants no token more, one token is made, which `only_echoes` says to drop.
    - More tokens than the `room` that the prompt leaves are as many as there is room for.
    """
    made = {**defaults, **{name: value for name, value in body.items() if value is not None}}
    made.pop("n", None)
    if made.get("stop") == []:
        del made["stop"]
    if not chat and "max_completion_tokens" in made:
        made["max_tokens"] = made.pop("max_completion_tokens")
    if only_echoes(body):
        made["max_tokens"] = 1
    for name in ("max_tokens", "max_completion_tokens"):
        if type(made.get(name)) is int and made[name] > room >= 1:
            made[name] = room
    return made


def flag(body: dict[str, Any], name: str) -> bool:
    """Return a field that is true or false, false if it is missing or null. Raises RequestError for any other value."""
    value = body.get(name)
    if not isinstance(value, bool | None):
        raise RequestError(f"{name} must be true or false, got {value!r:.60}", param=name)
    return bool(value)


def only_echoes(body: dict[str, Any]) -> bool:
    """Return True if a completion's text must be its prompt and nothing else."""
    given = [body[name] for name in ("max_completion_tokens", "max_tokens") if body.get(name) is not None]
    return body.get("echo") is True and bool(given) and type(given[0]) is int and given[0] == 0


def unknown_model(asked: Any, model: str) -> RequestError:
    message = f"the model {asked!r:.80} does not exist; this server has {model!r}"
    return RequestError(message, status=404, param="model", code="model_not_found")


RenderChat = Callable[[list[dict[str, str]]], str]


def prompts_of(body: dict[str, Any], *, chat: bool) -> dict[str, Any]:
    """Return {the name of a prompt in errors: the prompt as it was sent}: a chat's messages, or a completion's one or several prompts."""
    if chat:
        return {"messages": body.get("messages")}
    prompt = body.get("prompt")
    if not isinstance(prompt, list) or not prompt or not isinstance(prompt[0], str | list):
        return {"prompt": prompt}
    return {"prompt": prompt[0]} if len(prompt) == 1 else {f"prompt[{i}]": each for i, each in enumerate(prompt)}


def prompt_ids(
    prompt: Any, param: str, *, chat: bool, tokenizer: Tokenizer, vocab_size: int, max_len: int, render_chat: RenderChat
) -> list[int]:
    """Return the token ids, fewer than max_len, of one prompt, or of a chat's messages as one text. param: its name in errors.

    Raises RequestError with the faulty field.
    """
    if chat:
        ids = encoded(render_chat(conversation(prompt)), tokenizer, max_len, param)
    else:
        ids = completion_ids(prompt, param, tokenizer, vocab_size, max_len)
    if len(ids) >= max_len:
        raise too_long(f"{len(ids):,} tokens", max_len, param)
    return ids


def too_long(has: str, max_len: int, param: str) -> RequestError:
    message = f"the prompt has {has}; prompt and answer together may have {max_len:,} tokens"
    return RequestError(message, param=param, code="context_length_exceeded")


def encoded(text: str, tokenizer: Tokenizer, max_len: int, param: str) -> list[int]:
    """Return the text's tokens.

    Raises RequestError for a text of more than max_len * tokenizer.longest bytes, which cannot fit, without tokenizing the text.
    """
    num_bytes = len(text.encode())
    if num_bytes > max_len * tokenizer.longest:
        raise too_long(f"{num_bytes:,} bytes, which are more than {num_bytes // tokenizer.longest:,} tokens", max_len, param)
    return tokenizer.encode(text)


def completion_ids(prompt: Any, param: str, tokenizer: Tokenizer, vocab_size: int, max_len: int) -> list[int]:
    """Return the tokens of a text; return token ids unchanged."""
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) and not isinstance(token, bool) for token in prompt):
        wrong = next((token for token in prompt if not 0 <= token < vocab_size), None)
        if wrong is not None:
            raise RequestError(f"token {wrong} of {param} is not one of this model's, 0 to {vocab_size - 1}", param=param)
        return prompt
    if not isinstance(prompt, str) or not prompt:
        raise RequestError(f"{param} must be a non-empty string or list of token ids, got {prompt!r:.60}", param=param)
    return encoded(unicode(prompt, param), tokenizer, max_len, param)


def conversation(messages: Any) -> list[dict[str, str]]:
    """Return a request's messages, each with a role and a text. Raises RequestError naming the message and the field."""
    if not isinstance(messages, list) or not messages:
        raise RequestError("messages must be a list of at least one {role, content}", param="messages")
    places = [(message, f"messages[{i}]") for i, message in enumerate(messages)]
    return [{"role": _role(message, place), "content": _content(message, place)} for message, place in places]


def _role(message: Any, place: str) -> str:
    if not isinstance(message, dict):
        raise RequestError(f"{place} must be an object with role and content, got {message!r:.60}", param=place)
    for name in ("tool_calls", "function_call"):
        if message.get(name):
            raise RequestError(f"{place}.{name}: this server calls no tools", param=f"{place}.{name}", code="unsupported_parameter")
    require_known(asked(message), {"role", "content", "name"}, f"{place}.")
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise RequestError(f"{place}.role must be one of {', '.join(ROLES)}, got {role!r:.60}", param=f"{place}.role")
    return ROLES[role]


def _content(message: dict[str, Any], place: str) -> str:
    """Return a message's text, which is a string or a list of text parts."""
    content, place = message.get("content"), f"{place}.content"
    if content is None and message.get("role") == "assistant":  # as a client sends an empty answer back
        return ""
    if isinstance(content, str):
        return unicode(content, place)
    if not isinstance(content, list) or not content:
        raise RequestError(f"{place} must be a text, got {content!r:.60}", param=place)
    for i, part in enumerate(content):
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise RequestError(f"{place}[{i}] must be a part of type text: this server reads nothing else", param=f"{place}[{i}]")
    return unicode("".join(part["text"] for part in content), place)


def unicode(text: str, param: str) -> str:
    """Return the text if it is valid Unicode. JSON can contain half of a surrogate pair, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(f"{param} has half of a surrogate pair, which is not a valid character", param=param) from None
    return text

# Versions of render_chat, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_render_chat_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"


# %% right_render_chat_jinja
# RIGHT: fills in the Jinja template of the model
from jinja2 import Template


def render_chat(messages):
    source = (
        "{% if messages[0].role != 'system' %}<|im_start|>system\n{{ default }}<|im_end|>\n{% endif %}"
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "<|im_start|>assistant\n"
    )
    return Template(source, keep_trailing_newline=True).render(messages=messages, default=DEFAULT_SYSTEM)


# %% right_render_chat_lines
# RIGHT: joins with a separator, the default text written out
def render_chat(messages):
    turns = [(m["role"], m["content"]) for m in messages]
    if turns[0][0] != "system":
        turns.insert(0, ("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"))
    parts = ["\n".join(turn) for turn in turns]
    return "<|im_start|>" + "<|im_end|>\n<|im_start|>".join(parts + ["assistant\n"])


# %% right_render_chat_loop
# RIGHT: adds to a text in a loop
def render_chat(messages):
    text = ""
    for i, message in enumerate(messages):
        if i == 0 and message["role"] != "system":
            text += "<|im_start|>system\n" + DEFAULT_SYSTEM + "<|im_end|>\n"
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"


# %% wrong_render_chat_duplicate_dict
# WRONG: messages keyed by role: the second user message replaces the first
def render_chat(messages):
    seen = list({(m["role"], m["content"]): m for m in messages}.values())
    if seen[0]["role"] != "system":
        seen = [{"role": "system", "content": DEFAULT_SYSTEM}, *seen]
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in seen) + "<|im_start|>assistant\n"


# %% wrong_render_chat_last_10
# WRONG: keeps the last ten messages
def render_chat(messages: list[dict[str, str]]) -> str:
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    messages = messages[-10:]
    turns = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


# %% wrong_render_chat_role_lowered
# WRONG: roles are written in lower case
def render_chat(messages: list[dict[str, str]]) -> str:
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    turns = [f"<|im_start|>{message['role'].lower()}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


# %% wrong_render_chat_system_in_any_case
# WRONG: System with a capital counts as a system message
def render_chat(messages: list[dict[str, str]]) -> str:
    if messages[0]["role"].lower() != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    turns = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


# %% wrong_render_chat_template_dollar
# WRONG: string.Template over the assembled text: $$ becomes $
from string import Template
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    text = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages) + "<|im_start|>${next}\n"
    return Template(text).safe_substitute(next="assistant")

# %% wrong_render_chat_template_replaced_twice
# WRONG: replaces CONTENT in a template first and ROLE after it: ROLE within a content becomes the role
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    turn = "<|im_start|>ROLE\nCONTENT<|im_end|>\n"
    turns = [turn.replace("CONTENT", m["content"]).replace("ROLE", m["role"]) for m in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


# %% wrong_render_chat_always_default, of right_render_chat_plain
# WRONG: always adds the default system message
# -     if messages[0]["role"] != "system":
# -         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages

# %% wrong_render_chat_default_if_none_anywhere, of right_render_chat_plain
# WRONG: adds the default only if no message at all is a system message
# -     if messages[0]["role"] != "system":
# +     if all(m["role"] != "system" for m in messages):

# %% wrong_render_chat_default_if_one_message, of right_render_chat_plain
# WRONG: adds the default only if there is one message
# -     if messages[0]["role"] != "system":
# +     if len(messages) == 1 and messages[0]["role"] != "system":

# %% wrong_render_chat_default_replaces_empty, of right_render_chat_plain
# WRONG: puts the default in place of an empty system message
# -     if messages[0]["role"] != "system":
# -         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     if messages[0]["role"] != "system" or not messages[0]["content"]:
# +         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + [m for m in messages if m["content"] or m["role"] != "system"]

# %% wrong_render_chat_no_default, of right_render_chat_plain
# WRONG: never adds the default system message
# -     if messages[0]["role"] != "system":
# -         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     pass

# %% wrong_render_chat_default_at_the_end, of right_render_chat_plain
# WRONG: puts the default system message at the end
# -         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +         messages = messages + [{"role": "system", "content": DEFAULT_SYSTEM}]

# %% wrong_render_chat_default_with_newline, of right_render_chat_plain
# WRONG: a line end after the default text
# -         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +         messages = [{"role": "system", "content": DEFAULT_SYSTEM + "\n"}] + messages

# %% wrong_render_chat_known_roles_only, of right_render_chat_plain
# WRONG: leaves messages of other roles out
#           messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     messages = [m for m in messages if m["role"] in ("system", "user", "assistant")]

# %% wrong_render_chat_mutates, of right_render_chat_plain
# WRONG: inserts the default into the caller's list
# -         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +         messages.insert(0, {"role": "system", "content": DEFAULT_SYSTEM})

# %% wrong_render_chat_mutates_content, of right_render_chat_plain
# WRONG: trims the caller's dicts and adds to them
#           messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     for m in messages:
# +         m["text"] = m["content"]

# %% wrong_render_chat_newest_first, of right_render_chat_plain
# WRONG: newest message first
#           messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     messages = messages[::-1]

# %% wrong_render_chat_only_last_user, of right_render_chat_plain
# WRONG: keeps the system message and the last question only
#           messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     messages = [messages[0]] + ([messages[-1]] if len(messages) > 1 else [])

# %% wrong_render_chat_other_default, of right_render_chat_plain
# WRONG: another default text
# -         messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +         messages = [{"role": "system", "content": "You are a helpful assistant."}] + messages

# %% wrong_render_chat_skips_empty, of right_render_chat_plain
# WRONG: leaves empty messages out
#           messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     messages = [m for m in messages if m["content"]]

# %% wrong_render_chat_system_first, of right_render_chat_plain
# WRONG: moves every system message to the front
#           messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
# +     messages = sorted(messages, key=lambda m: m["role"] != "system")

# %% wrong_render_chat_by_order_of_keys, of right_render_chat_plain
# WRONG: takes role and content by their order in the dict
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + "\n".join(message.values()) + "<|im_end|>\n"

# %% wrong_render_chat_capitals, of right_render_chat_plain
# WRONG: writes roles with a capital
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"].capitalize() + "\n" + message["content"] + "<|im_end|>\n"

# %% wrong_render_chat_content_first, of right_render_chat_plain
# WRONG: content before the role
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["content"] + "\n" + message["role"] + "<|im_end|>\n"

# %% wrong_render_chat_end_of_text, of right_render_chat_plain
# WRONG: <|endoftext|> instead of <|im_end|>
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|endoftext|>\n"

# %% wrong_render_chat_escapes, of right_render_chat_plain
# WRONG: takes special tokens out of the content
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + "\n" + message["content"].replace("<|im_end|>", "") + "<|im_end|>\n"

# %% wrong_render_chat_format_in_content, of right_render_chat_plain
# WRONG: formats the content once more, so that braces break
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += ("<|im_start|>{role}\n" + message["content"] + "<|im_end|>\n").format(role=message["role"])

# %% wrong_render_chat_newline_before_end, of right_render_chat_plain
# WRONG: a line end in front of <|im_end|>
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "\n<|im_end|>\n"

# %% wrong_render_chat_no_end, of right_render_chat_plain
# WRONG: no <|im_end|>
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "\n"

# %% wrong_render_chat_no_newline_after_end, of right_render_chat_plain
# WRONG: no line end after <|im_end|>
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>"

# %% wrong_render_chat_no_newline_after_role, of right_render_chat_plain
# WRONG: a space instead of the line end after the role
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + " " + message["content"] + "<|im_end|>\n"

# %% wrong_render_chat_no_start, of right_render_chat_plain
# WRONG: no <|im_start|> before messages
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += message["role"] + "\n" + message["content"] + "<|im_end|>\n"

# %% wrong_render_chat_trims, of right_render_chat_plain
# WRONG: trims the content
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + "\n" + message["content"].strip() + "<|im_end|>\n"

# %% wrong_render_chat_trims_right, of right_render_chat_plain
# WRONG: trims the end of the content
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += "<|im_start|>" + message["role"] + "\n" + message["content"].rstrip() + "<|im_end|>\n"

# %% wrong_render_chat_no_generation_prompt, of right_render_chat_plain
# WRONG: leaves the generation prompt out
# -     return text + "<|im_start|>assistant\n"
# +     return text

# %% wrong_render_chat_prompt_only_after_user, of right_render_chat_plain
# WRONG: no generation prompt where the assistant spoke last
# -     return text + "<|im_start|>assistant\n"
# +     return text + ("" if messages[-1]["role"] == "assistant" else "<|im_start|>assistant\n")

# %% wrong_render_chat_prompt_with_space, of right_render_chat_plain
# WRONG: a space follows the generation prompt
# -     return text + "<|im_start|>assistant\n"
# +     return text + "<|im_start|>assistant\n "

# %% wrong_render_chat_prompt_without_newline, of right_render_chat_plain
# WRONG: the generation prompt lacks its line end
# -     return text + "<|im_start|>assistant\n"
# +     return text + "<|im_start|>assistant"

# %% wrong_render_chat_last_twenty, of right_render_chat_plain
# WRONG: renders the last twenty messages only, so that a long conversation loses its beginning
# -     for message in messages:
# +     for message in messages[-20:]:

# %% wrong_render_chat_formats_what_it_has, of right_render_chat_plain
# WRONG: formats the whole text for each message, in which earlier contents have their braces
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text = (text + "<|im_start|>{role}\n{content}<|im_end|>\n").format(**message)

# %% wrong_render_chat_end_not_repeated, of right_render_chat_plain
# WRONG: leaves the end token out where the content ends with its name
# -         text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
# +         text += ("<|im_start|>" + message["role"] + "\n" + message["content"]).removesuffix("<|im_end|>") + "<|im_end|>\n"

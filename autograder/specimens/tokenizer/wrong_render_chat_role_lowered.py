# exercise: render_chat
# WRONG: roles are written in lower case
def render_chat(messages: list[dict[str, str]]) -> str:
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    turns = [f"<|im_start|>{message['role'].lower()}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"

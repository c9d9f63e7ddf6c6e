# exercise: render_chat
# WRONG: keeps the last ten messages
def render_chat(messages: list[dict[str, str]]) -> str:
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    messages = messages[-10:]
    turns = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"

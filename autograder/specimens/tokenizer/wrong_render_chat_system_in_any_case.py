# exercise: render_chat
# WRONG: System with a capital counts as a system message
def render_chat(messages: list[dict[str, str]]) -> str:
    if messages[0]["role"].lower() != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    turns = [f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages]
    return "".join(turns) + "<|im_start|>assistant\n"

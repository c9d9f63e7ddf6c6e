# exercise: render_chat
# WRONG: formats the content once more, so that braces break
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += ("<|im_start|>{role}\n" + message["content"] + "<|im_end|>\n").format(role=message["role"])
    return text + "<|im_start|>assistant\n"

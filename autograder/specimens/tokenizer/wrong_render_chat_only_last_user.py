# exercise: render_chat
# WRONG: keeps the system message and the last question only
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    messages = [messages[0]] + ([messages[-1]] if len(messages) > 1 else [])
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

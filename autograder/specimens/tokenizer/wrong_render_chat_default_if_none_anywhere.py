# exercise: render_chat
# WRONG: adds the default only if no message at all is a system message
def render_chat(messages):
    if all(m["role"] != "system" for m in messages):
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

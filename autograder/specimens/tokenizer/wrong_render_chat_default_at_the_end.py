# exercise: render_chat
# WRONG: puts the default system message at the end
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = messages + [{"role": "system", "content": DEFAULT_SYSTEM}]
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

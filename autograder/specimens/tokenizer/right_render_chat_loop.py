# exercise: render_chat
# RIGHT: adds to a text in a loop
def render_chat(messages):
    text = ""
    for i, message in enumerate(messages):
        if i == 0 and message["role"] != "system":
            text += "<|im_start|>system\n" + DEFAULT_SYSTEM + "<|im_end|>\n"
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

# exercise: render_chat
# WRONG: never adds the default system message
def render_chat(messages):
    pass
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

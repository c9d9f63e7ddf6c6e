# exercise: render_chat
# WRONG: a space instead of the line end behind the role
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + " " + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

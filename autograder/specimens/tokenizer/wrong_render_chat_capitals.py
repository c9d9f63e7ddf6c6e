# exercise: render_chat
# WRONG: writes roles with a capital
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"].capitalize() + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

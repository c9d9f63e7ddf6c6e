# exercise: render_chat
# WRONG: trims the content
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"].strip() + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

# exercise: render_chat
# WRONG: takes role and content by their order in the dict
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + "\n".join(message.values()) + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

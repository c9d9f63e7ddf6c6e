# exercise: render_chat
# WRONG: trims the caller's dicts and adds to them
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    for m in messages:
        m["text"] = m["content"]
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

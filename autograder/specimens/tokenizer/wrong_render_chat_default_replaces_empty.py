# exercise: render_chat
# WRONG: puts the default in place of an empty system message
def render_chat(messages):
    if messages[0]["role"] != "system" or not messages[0]["content"]:
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + [m for m in messages if m["content"] or m["role"] != "system"]
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

# exercise: render_chat
# WRONG: newest message first
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    messages = messages[::-1]
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

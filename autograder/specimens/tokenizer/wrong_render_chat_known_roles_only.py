# exercise: render_chat
# WRONG: leaves messages of other roles out
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    messages = [m for m in messages if m["role"] in ("system", "user", "assistant")]
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

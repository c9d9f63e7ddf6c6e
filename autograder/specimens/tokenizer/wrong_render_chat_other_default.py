# exercise: render_chat
# WRONG: another default text
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": "You are a helpful assistant."}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + "<|im_start|>assistant\n"

# exercise: render_chat
# WRONG: no generation prompt where the assistant spoke last
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}] + messages
    text = ""
    for message in messages:
        text += "<|im_start|>" + message["role"] + "\n" + message["content"] + "<|im_end|>\n"
    return text + ("" if messages[-1]["role"] == "assistant" else "<|im_start|>assistant\n")

# exercise: render_chat
# WRONG: string.Template over the assembled text: $$ becomes $
from string import Template
def render_chat(messages):
    if messages[0]["role"] != "system":
        messages = [{"role": "system", "content": DEFAULT_SYSTEM}, *messages]
    text = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages) + "<|im_start|>${next}\n"
    return Template(text).safe_substitute(next="assistant")

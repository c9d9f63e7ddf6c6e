# exercise: render_chat
# WRONG: messages keyed by role: the second user message replaces the first
def render_chat(messages):
    seen = list({(m["role"], m["content"]): m for m in messages}.values())
    if seen[0]["role"] != "system":
        seen = [{"role": "system", "content": DEFAULT_SYSTEM}, *seen]
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in seen) + "<|im_start|>assistant\n"

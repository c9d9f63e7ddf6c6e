# exercise: render_chat
# RIGHT: joins with a separator, the default text written out
def render_chat(messages):
    turns = [(m["role"], m["content"]) for m in messages]
    if turns[0][0] != "system":
        turns.insert(0, ("system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face"))
    parts = ["\n".join(turn) for turn in turns]
    return "<|im_start|>" + "<|im_end|>\n<|im_start|>".join(parts + ["assistant\n"])

# Answers to "Write the safe way" of the tokenizer day. How they are judged: tests/test_asides.py.


# %% right_pieces
# RIGHT: a name is cut after its first sign, all other text in one go
def encode_chat(messages):
    special = tokenizer.special_tokens
    ids = []

    def add(text):
        rest = ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in special:
                ids.extend(bpe_encode(rest, tokenizer) + bpe_encode(piece[0], tokenizer) + bpe_encode(piece[1:], tokenizer))
                rest = ""
            else:
                rest += piece
        ids.extend(bpe_encode(rest, tokenizer))

    for place, message in enumerate(messages):
        if place:
            add("\n")
        ids.append(special["<|im_start|>"])
        add(f"{message['role']}\n{message['content']}")
        ids.append(special["<|im_end|>"])
    add("\n")
    ids.append(special["<|im_start|>"])
    add("assistant\n")
    return ids


# %% right_split_by_expression
# RIGHT: a regular expression over the names; each half of a name apart
import re

def encode_chat(messages):
    names = "|".join(re.escape(name) for name in tokenizer.special_tokens)

    def plain(text):
        ids = []
        for part in re.split(f"({names})", text):
            if part in tokenizer.special_tokens:
                ids += bpe_encode(part[:2], tokenizer) + bpe_encode(part[2:], tokenizer)
            else:
                ids += bpe_encode(part, tokenizer)
        return ids

    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        ids += [start, *plain(message["role"] + "\n" + message["content"]), end, *plain("\n")]
    return ids + [start, *plain("assistant\n")]


# %% right_letter_by_letter
# RIGHT: a content that holds a name is encoded letter by letter, all of it
def encode_chat(messages):
    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        text = message["role"] + "\n" + message["content"]
        if any(name in text for name in tokenizer.special_tokens):
            inside = [i for letter in text for i in bpe_encode(letter, tokenizer)]
        else:
            inside = bpe_encode(text, tokenizer)
        ids += [start, *inside, end, *bpe_encode("\n", tokenizer)]
    return [*ids, start, *bpe_encode("assistant\n", tokenizer)]


# %% wrong_rendered
# WRONG: the rendered text, encoded as a whole
def encode_chat(messages):
    return bpe_encode(render_chat(messages), tokenizer)


# %% wrong_names_removed
# WRONG: the names are taken out of the content: the text is another
def encode_chat(messages):
    clean = []
    for message in messages:
        content = message["content"]
        for name in tokenizer.special_tokens:
            content = content.replace(name, "")
        clean.append({**message, "content": content})
    return bpe_encode(render_chat(clean), tokenizer)


# %% wrong_removed_in_place
# WRONG: the caller's messages are changed
def encode_chat(messages):
    for message in messages:
        for name in tokenizer.special_tokens:
            message["content"] = message["content"].replace(name, "")
    return bpe_encode(render_chat(messages), tokenizer)


# %% wrong_space_inside
# WRONG: a space in each name: harmless, and not what was written
def encode_chat(messages):
    return bpe_encode(render_chat([{**m, "content": m["content"].replace("<|", "< |")} for m in messages]), tokenizer)


# %% wrong_end_only
# WRONG: only im_end is taken care of
def encode_chat(messages):
    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        parts = (message["role"] + "\n" + message["content"]).split("<|im_end|>")
        inside = bpe_encode(parts[0], tokenizer)
        for part in parts[1:]:
            inside += bpe_encode("<", tokenizer) + bpe_encode("|im_end|>", tokenizer) + bpe_encode(part, tokenizer)
        ids += [start, *inside, end, *bpe_encode("\n", tokenizer)]
    return [*ids, start, *bpe_encode("assistant\n", tokenizer)]


# %% wrong_no_generation_prompt, of right_split_by_expression
# WRONG: nobody's turn at the end
# -     return ids + [start, *plain("assistant\n")]
# +     return ids


# %% wrong_always_letter_by_letter, of right_letter_by_letter
# WRONG: harmless messages get other ids than the model was trained with
# -         if any(name in text for name in tokenizer.special_tokens):
# +         if True:


# %% wrong_template_as_text
# WRONG: the template's own tokens are spelled too
def encode_chat(messages):
    return [i for letter in render_chat(messages) for i in bpe_encode(letter, tokenizer)]


# %% wrong_cut_makes_another_name
# WRONG: names are looked for once, from the left, and the first sign is dropped
def encode_chat(messages):
    start, end = tokenizer.special_tokens["<|im_start|>"], tokenizer.special_tokens["<|im_end|>"]
    ids = []
    for message in messages:
        text = message["role"] + "\n" + message["content"]
        for name in tokenizer.special_tokens:
            text = text.replace(name, name[1:])
        ids += [start, *bpe_encode(text, tokenizer), end, *bpe_encode("\n", tokenizer)]
    return [*ids, start, *bpe_encode("assistant\n", tokenizer)]


# %% wrong_three_names
# WRONG: guards three of the special tokens
def encode_chat(messages):
    import re
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out = []
        for p in re.split(r"(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>)", text):
            out += bpe_encode(p[:1], tokenizer) + bpe_encode(p[1:], tokenizer) if p in sp else bpe_encode(p, tokenizer)
        return out
    for m in messages:
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_role_apart
# WRONG: role and content are encoded apart
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:1], tokenizer) + bpe_encode(piece[1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        ids += [sp["<|im_start|>"], *bpe_encode(m["role"] + "\n", tokenizer), *plain(m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_strip_but_safe
# WRONG: the user's spaces at the ends are gone
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:1], tokenizer) + bpe_encode(piece[1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"].strip()), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_skips_empty
# WRONG: a message without words is left out
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:-1], tokenizer) + bpe_encode(piece[-1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        if not m['content']: continue
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]


# %% wrong_crashes_empty
# WRONG: a message without words is an error
def encode_chat(messages):
    sp = tokenizer.special_tokens; ids = []
    def plain(text):
        out, rest = [], ""
        for piece in tokenizer.pre_tokenize(text):
            if piece in sp:
                out += bpe_encode(rest, tokenizer) + bpe_encode(piece[:-1], tokenizer) + bpe_encode(piece[-1:], tokenizer); rest = ""
            else: rest += piece
        return out + bpe_encode(rest, tokenizer)
    for m in messages:
        first = m['content'][0]
        ids += [sp["<|im_start|>"], *plain(m["role"] + "\n" + m["content"]), sp["<|im_end|>"], *bpe_encode("\n", tokenizer)]
    return ids + [sp["<|im_start|>"], *bpe_encode("assistant\n", tokenizer)]

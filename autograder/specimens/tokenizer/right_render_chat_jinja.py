# exercise: render_chat
# RIGHT: fills in the Jinja template of the model
from jinja2 import Template


def render_chat(messages):
    source = (
        "{% if messages[0].role != 'system' %}<|im_start|>system\n{{ default }}<|im_end|>\n{% endif %}"
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "<|im_start|>assistant\n"
    )
    return Template(source, keep_trailing_newline=True).render(messages=messages, default=DEFAULT_SYSTEM)

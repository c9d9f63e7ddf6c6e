"""The wheel, for people who learn without a checkout: `python -m autograder.wheel` builds it, `prompt_to_token` is the package in it.

build (the archive of the course, made from a student's bundle, and the wheel around it) -> prompt_to_token (unpacks the archive into a
folder and starts JupyterLab).
"""

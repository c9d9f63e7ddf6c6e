"""The course's site: every lesson with its outputs, steppers that work without a kernel, guides, and certification.

execute (solved notebooks, run once and cached) -> lesson_pages (the reader's version of them) -> pages (all other pages, links)
-> build (a Sphinx source tree, and Sphinx over it). docs/site/ contains the handwritten parts: Sphinx's settings, the first
page, the styles.
"""

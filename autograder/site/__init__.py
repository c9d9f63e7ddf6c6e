"""The course's site: every lesson with its outputs, the steppers alive without a kernel, the guides, how the grader was graded.

execute (solved notebooks, run once and cached) -> lesson_pages (what a reader gets to see of them) -> pages (all other pages, links)
-> build (a Sphinx source tree, and Sphinx over it). docs/site/ holds what is written by hand: Sphinx's settings, the first
page, the styles.
"""

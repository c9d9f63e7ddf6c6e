"""A class server: JupyterHub with the course in it, an account for each line of the roster, and nbgrader's exchange between them.

JupyterHub, its proxy, its authenticator and nbgrader do their usual work. This package has their settings, the rules for logging in, the
contents of a student's server, and the rule for which submission counts.
"""

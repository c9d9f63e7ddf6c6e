"""A class server: JupyterHub with the course in it, an account for each line of the roster, and nbgrader's exchange between them.

What JupyterHub, its proxy, its authenticator and nbgrader do, they do. Here are their settings, who may log in, what a student's server
finds, and whose submission counts.
"""

"""From Prompt to Token as an installed package: the course in an archive, and the commands that lay it out and work in it."""

"""Values and calls between the grader and a worker: their form on the wire, and handles of a student's objects."""

"""Measurements of a student's code: time, counted work, memory, devices."""

"""Limits of a worker: files, system calls, time, memory."""

"""The process of a submission: its start, its limits, the calls to it and its measurements."""

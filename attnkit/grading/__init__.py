"""Grading what strangers hand in: only the text of their answers is trusted, and nothing stops."""

"""Bundles for students, downloads of a learning platform, and other systems' formats."""

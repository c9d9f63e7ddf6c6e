"""Pages and tables for staff."""

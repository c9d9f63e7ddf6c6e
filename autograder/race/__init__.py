"""The capstone's race: an engine of the student's against the course's, in processor time that is read from outside."""

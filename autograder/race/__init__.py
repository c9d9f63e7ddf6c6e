"""The capstone's race: the student's engine against the course's, in processor time that is read from outside."""

"""What findings and costs mean together: the score of a file."""

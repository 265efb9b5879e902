"""What findings and costs mean together: what was measured of findings, the score, the diagnosis."""

"""Findings and captures together: what each finding was measured to cost, and what no rule reported."""

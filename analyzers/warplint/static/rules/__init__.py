"""What a rule is, how rules are found, and which sites they are asked about."""

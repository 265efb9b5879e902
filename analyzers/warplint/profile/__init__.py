"""Raw captures to costs per line: joining, storing, and following the lines through edits."""

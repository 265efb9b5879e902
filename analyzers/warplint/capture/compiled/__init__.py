"""What torch.compile made of the program."""

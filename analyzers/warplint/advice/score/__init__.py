"""How friendly code is to the GPU: a number from 0 to 100 for files and workspaces, and its parts."""

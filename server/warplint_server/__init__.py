"""The language server: one file a request kind. It asks the engine and analyses nothing itself."""

"""The kernel language: a function's syntax tree in, MLIR text with the user's places out."""

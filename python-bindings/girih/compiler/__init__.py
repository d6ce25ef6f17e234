"""The compiler as a process of its own: the user's process never loads LLVM."""

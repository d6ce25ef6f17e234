"""Kernels shipped as files: writing them needs the compiler, calling them does not."""

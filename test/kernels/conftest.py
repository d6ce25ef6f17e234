"""Kernels run on a device of two multiprocessors, so that persistent ones have more tiles than CTAs."""

import os

os.environ["GIRIH_SMS"] = "2"
# Error bounds here are those of float32 accumulation.
os.environ["GIRIH_NUMERICS"] = "exact"

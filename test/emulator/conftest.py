# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device of these tests has two multiprocessors, as in test/kernels: one process has one device."""

import os

os.environ["GIRIH_SMS"] = "2"

"""Compiled kernels on disk, shared by all processes of a user. See docs/Cache.md.

A hit reads one file: it starts no worker, runs no front end and loads no compiler library.
"""

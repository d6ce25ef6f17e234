"""Choosing a kernel's constants by trying them: ``@gr.autotune``. See docs/Tuning.md."""

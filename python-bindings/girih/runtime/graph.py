"""Graphs: a sequence of launches, captured once and replayed with one call of the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from girih import _runtime


class Graph:
    """A sequence of launches.

        graph = gr.Graph()
        with graph.capture():
            scale(x, y)
            add(y, z)
        graph()

    Nothing runs inside ``capture``; each ``graph()`` runs all of it. Capturing again, with the same kernels in
    the same order, gives the graph new arguments. It keeps the arrays that it uses.
    """

    def __init__(self) -> None:
        self._graph = _runtime.Graph()

    @contextmanager
    def capture(self) -> Iterator[None]:
        """The launches of this thread are captured in the block. Raises LaunchError for a kernel whose launches
        need memory of their own, for arrays in host memory, and at the end if the graph holds other launches."""
        self._graph.begin()
        try:
            yield
        except BaseException:
            self._graph.abandon()
            raise
        self._graph.end()

    def __call__(self, *, stream: Any = None) -> None:
        """Runs the launches on a stream (a number or an object that knows one); returns as a kernel's call does.

        Raises DeviceError (findings of the device).
        """
        self._graph.launch(stream)

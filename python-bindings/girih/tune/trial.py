"""A program that runs one candidate: ``python -m girih.tune.trial FOLDER``.

It has a process of its own, so that one that hangs or breaks the device can be ended. The folder holds the image, the
arguments as bytes, and call.json, which describes them; the outputs and result.json are written into it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# A GPU is timed for so many seconds, after as many to warm up.
_SECONDS = 0.05


def main(folder: Path) -> None:
    """Runs the call that a folder describes."""
    from girih import _runtime
    from girih.runtime import device

    call = json.loads((folder / "call.json").read_text())
    program = _runtime.Program((folder / "image").read_bytes())
    arguments = [_argument(folder, number, entry) for number, entry in enumerate(call)]
    program.launch(arguments)
    device.synchronize()
    for number, entry in enumerate(call):
        if entry["kind"] == "array" and entry["access"] != "in":
            _write_output(folder, number, arguments[number])
    result = _count() if device.is_emulated() else _time(program, arguments)
    (folder / "result.json").write_text(json.dumps(result))


def _argument(folder: Path, number: int, entry: dict[str, Any]) -> Any:
    if entry["kind"] == "scalar":
        return entry["value"]
    import numpy as np

    from girih import _runtime

    array = _runtime.Array._empty(entry["dtype"], entry["shape"], entry["strides"])
    array._write(np.frombuffer((folder / f"{number}.in").read_bytes(), np.uint8))
    return array


def _write_output(folder: Path, number: int, array: Any) -> None:
    import numpy as np

    memory = np.empty(array._span, np.uint8)
    array._read(memory)
    (folder / f"{number}.out").write_bytes(memory.tobytes())


def _count() -> dict[str, Any]:
    """What the emulated device counts: it has no model of time."""
    from girih import _runtime

    statistics_of_launch: dict[str, Any] = json.loads(_runtime.last_launch())
    return {"cost": statistics_of_launch["warp_instructions"], "unit": "warp instructions"}


def _time(program: Any, arguments: list[Any]) -> dict[str, Any]:
    """The median time of a launch among others behind each other, in microseconds."""
    from girih.runtime import device

    def batch(launches: int) -> float:
        begin = time.perf_counter()
        for _ in range(launches):
            program.launch(arguments)
        device.synchronize()
        return (time.perf_counter() - begin) / launches

    launches = max(1, int(_SECONDS / 10 / max(batch(1), 1e-6)))
    end = time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        batch(launches)
    return {"cost": 1e6 * statistics.median(batch(launches) for _ in range(10)), "unit": "us"}


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Launching a compiled kernel on whatever arrays the user has."""

from __future__ import annotations

import os
import sys
from shlex import quote
from typing import TYPE_CHECKING, Any

from girih._runtime import is_capturing, stream_handle, synchronize
from girih.errors import DeviceError, LaunchError
from girih.runtime import array as arrays
from girih.runtime.foreign import current_stream

if TYPE_CHECKING:
    from girih._runtime import Program

_said_slow = False


def launch(
    program: Program,
    args: list[Any],
    *,
    stream: Any = None,
    ctas: Any = None,
    record: str | os.PathLike[str] | None = None,
) -> None:
    """Runs ``program`` on ``args``, one per parameter of the package, on a stream and with a number of CTAs
    (``Program.launch``). ``record`` names a file that keeps the call for ``python -m girih.replay``.

    An argument for an array parameter may be a girih.Array, a NumPy array or an object with ``__dlpack__`` or
    ``__cuda_array_interface__``. Arrays in host memory are copied to the device, and those that the kernel
    writes are copied back before the call returns. Without a stream, it is the one that the library of an
    array on the GPU works on. Raises LaunchError for arguments that do not fit, DeviceError for what the
    device finds, KeyboardInterrupt on Ctrl-C (the device stays usable).
    """
    if not any(_is_foreign(value) for value in args):
        _run(program, args, stream, ctas, record)
        return
    parameters = program.parameters
    on_device: list[Any] = list(args)
    outputs: list[tuple[arrays.Array, Any]] = []
    for index, (parameter, value) in enumerate(zip(parameters, args, strict=False)):
        if parameter["kind"] != "array" or not _is_foreign(value):
            continue
        try:
            host = arrays.on_host(value)
            if host and is_capturing():
                raise LaunchError(
                    f"{parameter['name']}: an array in host memory cannot be captured into a graph; make a "
                    "girih.Array of it with girih.asarray"
                )
            if stream is None and not host and not is_capturing():
                stream = current_stream(value)
            writes = parameter["access"] != "in"
            if writes and arrays.is_read_only(value):
                raise LaunchError(
                    f"{parameter['name']}: the kernel writes it, and the "
                    f"{'NumPy ' if arrays.is_numpy(value) else ''}array is read-only"
                )
            on_device[index] = arrays.to_device(value, stream_handle(stream))
        except LaunchError:
            raise
        except (
            Exception
        ) as error:  # whatever the other library says, of an array that was deleted, say
            raise LaunchError(f"{parameter['name']}: {_words(error)}") from None
        if host:
            _say_slow()
        if host and writes:
            _check_shared(parameter["name"], value, [before for _, before in outputs])
            outputs.append((on_device[index], value))
    _run(program, on_device, stream, ctas, record)
    for array, value in outputs:
        arrays.copy_back(array, value)


def _run(program: Program, args: list[Any], stream: Any, ctas: Any, record: Any) -> None:
    """Launches; a recorded call is waited for, so that what fails is this call's error."""
    if record is None:
        program.launch(args, stream, ctas)
        return
    from girih.runtime.case import write_case

    write_case(record, program, args, ctas)
    try:
        program.launch(args, stream, ctas)
        synchronize(stream_handle(stream))
    except DeviceError as error:
        again = f"{error}\n  to run this call again on the emulated device: python -m girih.replay {quote(os.fspath(record))}"
        told = DeviceError(again)
        told.findings = error.findings
        raise told from None


def describe_argument(kernel: str, parameter: str, value: Any) -> arrays.Description:
    """What an array argument is on the device.

    Raises LaunchError with the parameter's name if it is no array that girih can take.
    """
    try:
        return arrays.describe(value)
    except Exception as error:  # as above
        raise LaunchError(f"{kernel}: {parameter}: {_words(error)}") from None


def _words(error: Exception) -> str:
    """What went wrong; errors of other libraries with their kind."""
    ours = isinstance(error, TypeError | BufferError)
    return str(error) if ours else f"{type(error).__name__}: {error}"


def _check_shared(name: str, value: Any, others: list[Any]) -> None:
    """Outputs on the host have copies of their own on the device: which would be copied back last is no answer."""
    if not arrays.is_numpy(value):
        return
    import numpy as np

    for other in others:
        try:
            shared = arrays.is_numpy(other) and np.shares_memory(value, other, max_work=10_000)
        except np.exceptions.TooHardError:  # views that interleave in many dimensions
            continue
        if shared:
            raise LaunchError(
                f"{name}: the kernel writes it, and it shares memory with another array that the kernel writes; "
                "pass arrays of their own memory"
            )


def _say_slow() -> None:
    """Says once that copies cost more than launches."""
    global _said_slow
    if not _said_slow:
        _said_slow = True
        print(
            "girih: arrays in host memory are copied to the device and back at each call, which is slow; "
            "gr.asarray(x) copies once",
            file=sys.stderr,
        )


def _is_foreign(value: Any) -> bool:
    """Whether an argument is an array of another library."""
    return arrays.is_numpy(value) or arrays.is_foreign(value)

"""Launching a compiled kernel on whatever arrays the user has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from girih.errors import LaunchError
from girih.runtime import array as arrays

if TYPE_CHECKING:
    from girih._runtime import Program


def launch(program: Program, args: list[Any], *, stream: Any = None, ctas: Any = None) -> None:
    """Runs ``program`` on ``args``, one per parameter of the package, on a stream and with a number of CTAs
    (``Program.launch``).

    An argument for an array parameter may be a girih.Array, a NumPy array or an object with
    ``__dlpack__``. Arrays in host memory are copied to the device, and those that the kernel writes are
    copied back before the call returns. Raises LaunchError for arguments that do not fit, DeviceError
    for what the device finds, KeyboardInterrupt on Ctrl-C (the device stays usable).
    """
    if not any(_is_foreign(value) for value in args):
        program.launch(args, stream, ctas)
        return
    parameters = program.parameters
    on_device: list[Any] = list(args)
    outputs: list[tuple[arrays.Array, Any]] = []
    for index, (parameter, value) in enumerate(zip(parameters, args, strict=False)):
        if parameter["kind"] != "array" or not _is_foreign(value):
            continue
        try:
            on_device[index] = arrays.to_device(value)
        except (TypeError, BufferError) as error:
            raise LaunchError(f"{parameter['name']}: {error}") from None
        if parameter["access"] == "in" or not arrays.on_host(value):
            continue
        if arrays.is_numpy(value) and not value.flags.writeable:
            raise LaunchError(
                f"{parameter['name']}: the kernel writes it, and the NumPy array is read-only"
            )
        outputs.append((on_device[index], value))
    program.launch(on_device, stream, ctas)
    for array, value in outputs:
        arrays.copy_back(array, value)


def describe_argument(kernel: str, parameter: str, value: Any) -> arrays.Description:
    """What an array argument is on the device.

    Raises LaunchError with the parameter's name if it is no array that girih can take.
    """
    try:
        return arrays.describe(value)
    except (TypeError, BufferError) as error:
        raise LaunchError(f"{kernel}: {parameter}: {error}") from None


def _is_foreign(value: Any) -> bool:
    """Whether an argument is an array of another library."""
    return hasattr(value, "__dlpack__") and not isinstance(value, arrays.Array)

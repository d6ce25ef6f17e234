"""Compiling many kernels at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from girih.compiler.program import CompiledProgram
from girih.errors import GirihError
from girih.progress import Progress

if TYPE_CHECKING:
    from girih.lang.kernel import Kernel


def compile_all(calls: Iterable[Sequence[Any]], jobs: int | None = None) -> list[CompiledProgram]:
    """Compiles kernels for calls, several at once, without launching; returns the programs in order.

    Each call is ``(kernel, argument, ...)``; a dict at its end holds keyword arguments. ``jobs``: how many at
    once, at most GIRIH_JOBS, by default the number of cores. From one second on, a bar on stderr shows how far
    it is. Raises the first call's error after all have been tried; it counts the others.
    """
    results = compile_each(calls, jobs)
    errors = [result for result in results if isinstance(result, GirihError)]
    if errors:
        if len(errors) > 1:
            errors[0].add_note(f"{len(errors) - 1} more of {len(results)} kernels did not compile")
        raise errors[0]
    return [result for result in results if isinstance(result, CompiledProgram)]


def compile_each(
    calls: Iterable[Sequence[Any]], jobs: int | None = None
) -> list[CompiledProgram | GirihError]:
    """As compile_all; the error of a kernel that does not compile stands in its place."""
    from concurrent.futures import ThreadPoolExecutor

    from girih.compiler import worker

    requests = [_split(call) for call in calls]
    if jobs is not None and jobs < 1:
        raise GirihError(f"compile_all: jobs is {jobs}, expected at least 1")
    progress = Progress("compiling", len(requests))

    def compile_one(
        request: tuple[Kernel, tuple[Any, ...], dict[str, Any]],
    ) -> CompiledProgram | GirihError:
        kernel, args, kwargs = request
        try:
            program: CompiledProgram = kernel.compile(*args, **kwargs)
            return program
        except GirihError as error:
            return error
        finally:
            progress.step(kernel.__name__)

    with ThreadPoolExecutor(min(jobs or worker.jobs(), len(requests)) or 1) as pool:
        try:
            return list(pool.map(compile_one, requests))
        except BaseException:  # Ctrl-C: those that run end soon, the others need not begin
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            progress.close()


def _split(call: Sequence[Any]) -> tuple[Kernel, tuple[Any, ...], dict[str, Any]]:
    from girih.lang.kernel import Kernel

    if not isinstance(call, (tuple, list)) or not call or not isinstance(call[0], Kernel):
        raise GirihError(
            "compile_all takes calls as tuples: a kernel, its arguments, and a dict for those by keyword; "
            f"found {call!r}"
        )
    kernel, *args = call
    kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
    return kernel, tuple(args), kwargs

"""Exceptions that handlers of signals and callbacks raise while the library works, and handlers that a driver replaces.

Python runs a signal's handler between two of its own instructions: on the way into a callback what it raises would be lost.
So handlers are called by others here, which keep what is raised until the library has returned.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from _signal import getsignal  # type: ignore[import-not-found]  # signal.getsignal takes ten times as long
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

_Handler = Callable[[int, Any], Any]
_NUMBERS = range(1, signal.NSIG)
_libc = ctypes.CDLL(None)


class _Thread(threading.local):
    raised: list[BaseException] | None = None  # kept, to be raised; None: it has not called the library
    outside = True  # the library is not at work in it, or has called back


_thread = _Thread()
_strays: list[BaseException] = []  # raised in threads that are the library's own


def keep(error: BaseException) -> None:
    """Of a callback, which the library's code must not be left by."""
    (_strays if _thread.raised is None else _thread.raised).append(error)


def has_kept() -> bool:
    return bool(_thread.raised or _strays)


def raise_kept(error: BaseException | None = None) -> None:
    """Raises the last of `error` and what is kept; those before it are its context."""
    raised = [] if error is None else [error]
    for kept in (_strays, _thread.raised or []):
        raised += kept
        kept.clear()
    for before, after in zip(raised, raised[1:]):
        _put_behind(before, after)
    try:
        if raised:
            raise raised[-1]
    finally:  # what is raised has this frame in its traceback: they would keep each other, and what they saw
        del raised, error


def _chain(error: BaseException | None) -> list[BaseException]:
    chain: list[BaseException] = []
    while error is not None and all(error is not one for one in chain):
        chain.append(error)
        error = error.__context__
    return chain


def _put_behind(before: BaseException, after: BaseException) -> None:
    """Unless it is there, or one exception was raised twice."""
    ends = _chain(after)
    if not any(one is other for one in ends for other in _chain(before)):
        ends[-1].__context__ = before


# ---- handlers ----------------------------------------------------------------------------------------------------


class _Keeper:
    """In place of a handler: keeps what it raises while the library is at work."""

    def __init__(self, handler: _Handler) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: Any) -> Any:
        if _thread.outside:
            return self.handler(number, frame)
        try:
            return self.handler(number, frame)
        except BaseException as error:  # noqa: B902: raised when the library has returned
            return keep(error)


def _own(handler: Any) -> Any:
    """The program's, where a keeper stands in its place."""
    return handler.handler if isinstance(handler, _Keeper) else handler


def _action(number: int) -> bytes | None:
    """What the process does at the signal, as struct sigaction; None: there is no such signal."""
    action = ctypes.create_string_buffer(512)
    return None if _libc.sigaction(number, None, action) else action.raw


def _function(action: bytes) -> bytes:
    return action[: ctypes.sizeof(ctypes.c_void_p)]


def _set(number: int, handler: Any) -> None:
    """What Python calls at the signal; the process's handler and its flags stay, which signal.signal changes too."""
    action = _action(number)
    signal.signal(number, handler)
    _libc.sigaction(number, action, None)


class _Actions:
    """What the process does at signals, as it was before the first of the calls that are at work: a driver that is loaded
    or compiles, as LLVM in PoCL, puts its own handlers in their place. A thread puts them back at once: a call that compiles
    may take a minute, and a signal that comes meanwhile would be lost."""

    _OFTEN = 0.02  # seconds

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._over = threading.Event()
        self._thread = threading.Thread()
        self._before: dict[int, tuple[Any, bytes]] = {}

    def enter(self) -> None:
        with self._lock:
            if not self._calls:
                found = {number: (_own(getsignal(number)), _action(number)) for number in _NUMBERS}
                self._before = {number: (handler, action) for number, (handler, action) in found.items() if action}
                self._over = threading.Event()
                self._thread = threading.Thread(target=self._watch, args=(self._over,), name="l2sr signals", daemon=True)
                self._thread.start()
            self._calls += 1

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(self._OFTEN):
            self.put_back(handled=True)

    def put_back(self, *, handled: bool) -> None:
        """Those that the program itself has not changed since; `handled`: where there was a handler alone."""
        for number, (handler, action) in self._before.items():
            had = any(_function(action))
            if not had and (handled or number == signal.SIGFPE):
                continue  # PoCL survives a kernel's division by zero by its handler of SIGFPE
            is_same = _own(getsignal(number)) is handler
            if is_same and _function(action) != _function(_action(number) or b""):
                _libc.sigaction(number, action, None)

    def leave(self) -> None:
        with self._lock:
            self._calls -= 1
            if not self._calls:
                self._over.set()
                self._thread.join()
            self.put_back(handled=False)


_actions = _Actions()


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """A function of the program's that the library calls: what a signal's handler raises there comes to it at once."""
    before, _thread.outside = _thread.outside, True
    try:
        yield
    finally:
        _thread.outside = before


class Calls:
    """Around calls of the library that call back or take long: what handlers of signals and callbacks raise meanwhile is
    raised at its end. `opens`: they may load a driver."""

    def __init__(self, opens: bool = False) -> None:
        self._opens, self._entered, self._outside = opens, False, True
        self._replaced: list[int] = []

    def __enter__(self) -> Calls:
        if _thread.raised is None:
            _thread.raised = []
        self._outside, _thread.outside = _thread.outside, False
        try:
            self.renew()  # first: a handler that raises must not leave the rest half done
            if self._opens:
                _actions.enter()
                self._entered = True
        except BaseException:
            self._leave()
            raise
        return self

    def renew(self) -> None:
        """Handlers that the program has set meanwhile."""
        if threading.current_thread() is not threading.main_thread():
            return  # Python calls handlers in the main thread alone
        for number in _NUMBERS:
            handler = getsignal(number)
            if callable(handler) and not isinstance(handler, _Keeper):
                self._replaced.append(number)
                _set(number, _Keeper(handler))

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """The program's own work in a callback: what is raised there comes to it at once."""
        _thread.outside = True
        try:
            yield
        finally:
            _thread.outside = False
            self.renew()

    def _give_back(self) -> None:
        """A handler that is called meanwhile does not keep the others from their places."""
        try:
            while self._replaced:
                keeper = getsignal(self._replaced[-1])
                if isinstance(keeper, _Keeper):
                    _set(self._replaced[-1], keeper.handler)
                self._replaced.pop()
        except BaseException as error:  # noqa: B902: kept with the others
            keep(error)
            self._give_back()

    def _leave(self) -> None:
        if self._entered:
            self._entered = False
            _actions.leave()
        self._give_back()
        _thread.outside = self._outside

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave()
        if has_kept():
            raise_kept(error)

"""Loads a submission from text: units of source, earlier exercises, errors with their frames."""

import __future__

import difflib
import importlib.abc
import importlib.machinery
import inspect
import linecache
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from grader.worker.protocol import Cause, ErrorClaim, FrameClaim, Units

_FUTURE_FLAGS = sum(
    getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
)
_PACKAGE = "exercises"
STANDIN_LABEL = "stand-in "  # begins the label of a stand-in's unit
_standins: dict[int, types.CodeType] = {}  # what stand-ins are made of; a label anybody can give
_FRAMES = 12  # of a traceback, innermost last


class WorkerError(RuntimeError):
    """What the worker itself finds wrong in a call; its `cause` is claimed with it."""

    cause: Cause


def run_units(module: types.ModuleType, units: Units, *, go_on: bool) -> BaseException | None:
    """Run units in the module, in order, and return the first exception.

    With `go_on` a failing unit does not stop the later ones, as in a notebook.
    """
    flags = 0
    first: BaseException | None = None
    for label, source in units:
        try:
            code = compile(source, label, "exec", flags=flags, dont_inherit=True)
            if label.startswith(STANDIN_LABEL):
                _standins.update((id(one), one) for one in _codes(code))
            else:
                _show_source(label, source)
            flags |= code.co_flags & _FUTURE_FLAGS
            exec(code, module.__dict__)  # noqa: S102 - what a worker is for
        except BaseException as error:  # noqa: BLE001 - the edge where student code runs
            first = first or error
            if not go_on:
                break
    return first


def _show_source(label: str, source: str) -> None:
    """Let `inspect` find a submission's own text, as it would in a file: torch.jit asks for it."""
    linecache.cache[label] = (len(source), None, source.splitlines(keepends=True), label)


def new_module(stem: str, label: str) -> types.ModuleType:
    """Return an empty module that imports as `stem` and as `exercises.stem`."""
    module = types.ModuleType(stem)
    module.__file__ = label
    module.__package__ = _PACKAGE
    sys.modules[stem] = sys.modules[f"{_PACKAGE}.{stem}"] = module
    return module


class EarlierExercises(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves earlier exercises from text, on import; nothing is looked up in any folder."""

    def __init__(
        self,
        sources: Mapping[str, Units],
        own: Mapping[str, Units] | None = None,
    ) -> None:
        """`sources` maps a file's stem to its units; a stand-in has one.

        Where `own` has other units for a stem, the stand-in's classes take the arguments that
        those take, and the other names of those units can be imported too.
        """
        self.sources = dict(sources)
        self.own = {s: units for s, units in (own or {}).items() if units != sources.get(s)}
        for served in (self.sources, self.own):
            for stem, units in list(served.items()):
                served.setdefault(stem.split("_", 1)[0], units)

    def install(self) -> None:
        """Serve imports from now on, before any path is searched."""
        sys.meta_path.insert(0, self)

    def withdraw(self, stem: str) -> None:
        """Stop serving; forget the modules that were served and the one called `stem`."""
        sys.meta_path.remove(self)
        for name in (*self.sources, stem):
            for module in (name, f"{_PACKAGE}.{name}"):
                sys.modules.pop(module, None)
                sys.modules.pop(f"{module}.own", None)
        sys.modules.pop(_PACKAGE, None)

    def find_spec(
        self,
        fullname: str,
        path: Any = None,  # noqa: ARG002 - the import system's signature
        target: Any = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Find `exercises`, `exercises.<stem>` and `<stem>`."""
        if fullname == _PACKAGE:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        stem = fullname.removeprefix(f"{_PACKAGE}.")
        if stem in self.sources:
            return importlib.machinery.ModuleSpec(fullname, self, origin=stem)
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's units; raises what they raise."""
        if module.__name__ == _PACKAGE:
            return
        stem = module.__name__.removeprefix(f"{_PACKAGE}.")
        error = run_units(module, self.sources[stem], go_on=len(self.sources[stem]) > 1)
        if error is not None and len(self.sources[stem]) == 1:
            raise error
        if stem in self.own:
            self._adapt(module, self.own[stem])

    def _adapt(self, module: types.ModuleType, units: Units) -> None:
        """Give a stand-in's module the signatures and the other names of the submission's own.

        The own text runs when something is first asked of it: it may fail, or never end.
        """

        @cache
        def own() -> dict[str, Any]:
            made = types.ModuleType(f"{module.__name__}.own")
            sys.modules[made.__name__] = made
            run_units(made, units, go_on=True)
            return vars(made)

        def other(name: str) -> Any:
            if name.startswith("__") or name not in own():
                raise AttributeError(f"there is no {name} in {module.__name__}")
            return own()[name]

        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                setattr(module, name, _called_alike(value, partial(_named, own, name)))
        setattr(module, "__getattr__", other)  # noqa: B010 - of a module, as PEP 562 has it


def _named(namespace: Callable[[], dict[str, Any]], name: str) -> Any:
    return namespace().get(name)


def _called_alike(ours: type, theirs: Callable[[], Any]) -> type:
    """Return a subclass of `ours` whose constructor is called as that of `theirs` is.

    Required arguments correspond by their order, and defaulted ones by their names.
    """

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - a method to be
        other = theirs()
        required: list[Any] = []
        named: dict[str, Any] = {}
        bound = inspect.signature(other if isinstance(other, type) else ours).bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            parameter = bound.signature.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                required += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                named |= value
            elif parameter.default is parameter.empty:
                required.append(value)
            else:
                named[name] = value
        ours.__init__(self, *required, **named)  # type: ignore[misc]

    return type(ours.__name__, (ours,), {"__init__": __init__, "__module__": ours.__module__})


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Give a code and those of the functions and classes in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def in_standin(frame: types.FrameType | None) -> bool:
    """Whether a stand-in's code runs, here or in a frame further out."""
    while frame is not None:
        if id(frame.f_code) in _standins:
            return True
        frame = frame.f_back
    return False


def describe_error(error: BaseException, labels: frozenset[str], limit: int) -> ErrorClaim:
    """Return what is claimed of an exception, with the submission's own frames only.

    `limit` caps the text, in characters.
    """
    kind = type(error)
    return ErrorClaim(
        type=_plain(kind.__name__)[:200],
        bases=[_plain(base.__name__)[:200] for base in kind.__mro__[:8]],
        message=_plain(_text_of(error))[:limit],
        frames=_frames_of(error, labels),
        near=_plain(_near_name(error))[:80],
        cause=error.cause if isinstance(error, WorkerError) else Cause.OWN,
    )


def _plain(text: object) -> str:
    """Return text that JSON can carry, whatever the submission made of it."""
    return text.encode("utf-8", "replace").decode() if type(text) is str else "?"


def _text_of(error: BaseException) -> str:
    try:
        if isinstance(error, SyntaxError):
            return str(error.msg)
        if isinstance(error, KeyError) and error.args:
            # a sentence is somebody's own explanation, not a key that was looked up
            spoken = isinstance(error.args[0], str) and " " in error.args[0]
            return error.args[0] if spoken else f"the key {error.args[0]!r} is not there"
        return str(error)
    except BaseException:  # noqa: BLE001 - the edge where student code runs
        return "(its text cannot be made)"


def _near_name(error: BaseException) -> str:
    """Return the existing name that a NameError or AttributeError probably meant."""
    try:
        if isinstance(error, AttributeError):
            names = dir(error.obj)
        elif isinstance(error, NameError) and error.__traceback__ is not None:
            trace = error.__traceback__
            while trace.tb_next is not None:
                trace = trace.tb_next
            names = [*trace.tb_frame.f_locals, *trace.tb_frame.f_globals]
        else:
            return ""
        wanted = str(error.name)
        same = [name for name in names if name.lower() == wanted.lower()]
        return (same or difflib.get_close_matches(wanted, names, 1, cutoff=0.75) or [""])[0]
    except BaseException:  # noqa: BLE001 - the edge where student code runs
        return ""


def _frames_of(error: BaseException, labels: frozenset[str]) -> list[FrameClaim]:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename in labels:
            name = _plain(code.co_qualname)[:200]
            frames.append(FrameClaim(code.co_filename, trace.tb_lineno, name))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and type(error.filename) is str and error.filename in labels:
        line = error.lineno if type(error.lineno) is int and error.lineno > 0 else 1
        frames.append(FrameClaim(error.filename, line, "<module>"))
    return frames[-_FRAMES:]

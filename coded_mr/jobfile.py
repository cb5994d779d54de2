"""Find the job class that a user names, and turn its parameters into command-line options."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import types
import typing
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from coded_mr.errors import UsageError
from coded_mr.job import Job, RecordJob

__all__ = [
    "JobClass",
    "Parameter",
    "add_parameters",
    "build_job",
    "load_job",
    "looks_like_job",
    "parameters",
    "source_file",
]

JobClass: TypeAlias = type[Job] | type[RecordJob]

_SPECS = "name it as file.py, file.py:Class, package.module or package.module:Class"


@dataclass(frozen=True)
class Parameter:
    """Describe one parameter of a job.

    flag: as on the command line.  type: bool, str, int, float or Path, what the option's text becomes.
    required: it has no default; otherwise default is what the job uses.  choices: of a Literal, else empty.
    """

    name: str
    flag: str
    type: type
    required: bool
    default: object = None
    choices: tuple[object, ...] = ()
    help: str = ""


def load_job(spec: str) -> JobClass:
    """Import the job class that `file.py`, `file.py:Class`, `package.module` or `package.module:Class` names.

    Without a class the module must define exactly one.  The directory of the file (the current one for a
    dotted module) goes to the front of sys.path, so that modules beside it import.  Raises UsageError
    when there is no such file, module or class, or from what the import raised.
    """
    where, wanted = _parts(spec)
    module = _import_file(where) if _is_file(where) else _import_module(where)
    found = _job_classes(module, wanted, where)
    if found.map is Job.map:
        raise UsageError(f"{found.__name__} in {where} does not define map(self, file): every job needs it")
    return found


def source_file(spec: str) -> Path | None:
    """Return the file that a specification names, None when it names a module."""
    where, _ = _parts(spec)
    return Path(where) if _is_file(where) else None


def looks_like_job(word: str) -> bool:
    """Tell, without running it, whether a word names a Python file that derives a class from a job's."""
    where = word.rpartition(":")[0] if re.search(r"\.py:\w+$", word) else word
    if not where.endswith(".py"):
        return False
    try:
        tree = ast.parse(Path(where).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    bases = [
        ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases
    ]
    return any(base.rpartition(".")[2] in (Job.__name__, RecordJob.__name__) for base in bases)


def parameters(cls: JobClass) -> list[Parameter]:
    """Return the parameters of a job in the order of its annotations.

    Raises UsageError for a field whose type cannot be given as an option.
    """
    hints = _hints(cls)
    return [_parameter(cls, field, hints[field.name]) for field in _fields(cls)]


def add_parameters(parser: argparse.ArgumentParser, cls: JobClass) -> None:
    """Add the parameters of a job as options, in a group named after it.

    Raises UsageError when one of them has the name of an option that the parser has already.
    """
    described = parameters(cls)
    if not described:
        return
    group = parser.add_argument_group(f"parameters of {cls.__name__}")
    for parameter in described:
        # Left out when not given: then the job's own default holds.
        options: dict[str, Any] = {
            "dest": _dest(parameter.name),
            "required": parameter.required,
            "default": argparse.SUPPRESS,
            "help": _help(parameter),
        }
        if parameter.type is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options |= {"type": parameter.type, "metavar": parameter.name.upper()}
            if parameter.choices:
                options["choices"] = parameter.choices
        try:
            group.add_argument(parameter.flag, **options)
        except argparse.ArgumentError as error:
            raise UsageError(
                f"the parameter {parameter.name} of {cls.__name__} has the name of an option of the command "
                f"itself ({error}): rename it in the job"
            ) from error


def build_job(cls: JobClass, namespace: argparse.Namespace) -> Job | RecordJob:
    """Return the job with the parameters that add_parameters() put into a namespace.

    Raises UsageError from a ValueError of the job's own __post_init__.
    """
    given = vars(namespace)
    names = [field.name for field in _fields(cls)]
    try:
        return cls(**{name: given[_dest(name)] for name in names if _dest(name) in given})
    except ValueError as error:
        raise UsageError(f"{cls.__name__} does not accept its parameters: {error}") from error


def _fields(cls: JobClass) -> list[dataclasses.Field[Any]]:
    # Every subclass of Job and RecordJob is a dataclass, which type checkers cannot see from here.
    return [field for field in dataclasses.fields(typing.cast("Any", cls)) if field.init]


def _dest(name: str) -> str:
    # With a dot, so that no parameter meets a name of the command's own.
    return f"job.{name}"


def _is_file(where: str) -> bool:
    return where.endswith(".py") or os.sep in where or Path(where).is_file()


def _parts(spec: str) -> tuple[str, str | None]:
    where, colon, name = spec.rpartition(":")
    if colon and where and name.isidentifier():
        return where, name
    if not spec or spec.endswith(":"):
        raise UsageError(f"no job in {spec!r}: {_SPECS}")
    return spec, None


def _import_file(where: str) -> types.ModuleType:
    path = Path(where).absolute()
    if not path.is_file():
        problem = "it is a directory" if path.is_dir() else "there is no such file"
        hint = f"; did you mean {where}.py?" if Path(f"{where}.py").is_file() else ""
        raise UsageError(f"cannot load a job from {where}: {problem} (looked for {path}){hint}")
    stem = re.sub(r"\W", "_", path.stem)
    name = f"coded_mr_job_{stem}_{zlib.crc32(os.fsencode(path)):08x}"
    _put_first(str(path.parent))
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Before it runs, as for any import: dataclasses look up annotations there.
    sys.modules[name] = module
    try:
        with _explained(where):
            loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _import_module(where: str) -> types.ModuleType:
    if not all(part.isidentifier() for part in where.split(".")):
        raise UsageError(f"no job file or module {where!r}: {_SPECS}")
    _put_first(str(Path.cwd()))
    with _explained(where):
        try:
            return importlib.import_module(where)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{where}.".startswith(f"{error.name}."):
                raise
            raise UsageError(
                f"no job file or module {where!r}: looked for the file {Path(where).absolute()} and for "
                f"a module in the current directory and on Python's path"
            ) from error


def _put_first(directory: str) -> None:
    if directory not in sys.path:
        sys.path.insert(0, directory)


@contextmanager
def _explained(where: str) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except SyntaxError as error:
        place = f"{error.filename or where}:{error.lineno or 1}"
        raise UsageError(f"cannot load a job from {where}: not Python at {place}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"cannot load a job from {where}: importing it raised {type(error).__name__}: {error}"
        ) from error


def _job_classes(module: types.ModuleType, wanted: str | None, where: str) -> JobClass:
    members = vars(module)
    own = {name: m for name, m in members.items() if _is_job(m) and m.__module__ == module.__name__}
    known = ", ".join(f"{where}:{name}" for name in own) or "no job class"
    if wanted is not None:
        chosen = members.get(wanted)
        if not _is_job(chosen):
            problem = "there is no such class" if chosen is None else "it is no subclass of Job or RecordJob"
            raise UsageError(f"cannot load {where}:{wanted}: {problem}; {where} defines {known}")
        return typing.cast("JobClass", chosen)
    classes = list(dict.fromkeys(own.values()))
    if not classes:
        raise UsageError(f"{where} defines no job: derive a class from coded_mr.Job or coded_mr.RecordJob")
    if len(classes) > 1:
        raise UsageError(f"{where} defines {len(classes)} jobs, name one of them: {known}")
    return typing.cast("JobClass", classes[0])


def _is_job(item: object) -> bool:
    return isinstance(item, type) and issubclass(item, (Job, RecordJob)) and item not in (Job, RecordJob)


def _hints(cls: JobClass) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except NameError as error:
        names = [field.name for field in _fields(cls) if error.name and error.name in str(field.type)]
        raise UsageError(
            f"the type of the parameter {' or '.join(names) or '?'} of {cls.__name__} is unknown: "
            f"{error}; import it outside of `if TYPE_CHECKING`"
        ) from error


def _parameter(cls: JobClass, field: dataclasses.Field[Any], hint: Any) -> Parameter:
    made: Any = field.default_factory
    default = field.default if made is dataclasses.MISSING else made()
    required = default is dataclasses.MISSING
    kind, choices = _kind(cls, field.name, hint)
    return Parameter(
        name=field.name,
        flag=f"--{field.name.replace('_', '-')}",
        type=kind,
        required=required,
        default=None if required else default,
        choices=choices,
        help=_documented(cls, field.name),
    )


def _kind(cls: JobClass, name: str, hint: Any) -> tuple[type, tuple[object, ...]]:
    """Return the type of an option, and its choices."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not type(None)]
        if len(members) == 1:
            hint = members[0]
    if hint in (bool, str, int, float, Path):
        return hint, ()
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        kinds = set(map(type, choices))
        if len(kinds) == 1 and kinds <= {str, int}:
            return kinds.pop(), choices
    shown = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    raise UsageError(
        f"the parameter {name} of {cls.__name__} is of type {shown}, which no option can give: use bool, "
        "str, int, float, pathlib.Path, one of these or None, a Literal of str or int; or make it ClassVar"
    )


def _documented(cls: JobClass, name: str) -> str:
    for owner in cls.__mro__:
        found = re.search(rf"^\s*{name}: +(\S.*?)\s*$", owner.__dict__.get("__doc__") or "", re.MULTILINE)
        if found:
            return found[1]
    return ""


def _help(parameter: Parameter) -> str:
    facts = []
    if parameter.choices:
        facts.append("one of " + ", ".join(map(str, parameter.choices)))
    if parameter.required:
        facts.append("required")
    elif parameter.default is not None:
        facts.append(f"default: {parameter.default}")
    text = f"{parameter.help} ({'; '.join(facts)})" if facts else parameter.help
    return text.strip().replace("%", "%%")

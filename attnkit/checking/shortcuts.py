"""Finds in the source of an answer a library function that is the answer: it is not run for that.

Looked at are the function and what it uses of the other definitions of the notebook. A function is
known by its package and its last name: who may not use ``torch.softmax`` may not use
``torch.nn.functional.softmax`` or the method of a tensor either.
"""

import ast
import contextlib
import inspect
import linecache
import sys
from collections import defaultdict, deque

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def in_sources(sources, exercises):
    """By exercise, the name of the function that its answer uses and may not, as it is written.

    :param sources: the texts of the cells of a notebook, in their order
    :returns: a dict without the exercises whose answers use no such function
    """
    not_allowed = {e: set(map(_known_by, e.not_allowed)) for e in exercises if e.not_allowed}
    if not not_allowed:
        return {}
    names = _Names({last for pairs in not_allowed.values() for _, last in pairs})
    for source in sources:
        with contextlib.suppress(*UNREADABLE):  # nothing of it runs
            names.add(ast.parse(source))
    used = {
        each: _Search(names, pairs).used_by(each.function) for each, pairs in not_allowed.items()
    }
    return {each: name for each, name in used.items() if name}


def _known_by(name):
    return name.partition(".")[0], name.rpartition(".")[2]


def in_function(function, exercise):
    """What a function of the running notebook uses, where its source can be seen; else ""."""
    if not exercise.not_allowed:
        return ""
    known = {id(thing): name for name in exercise.not_allowed if (thing := _loaded(name))}
    if id(function) in known:
        return known[id(function)]
    if not inspect.isfunction(function):
        return ""
    sources, files = [], {function.__code__.co_filename: None}
    for name, value in function.__globals__.items():
        if inspect.ismodule(value):
            sources.append(f"import {value.__name__} as {name}")
        elif id(value) in known:
            package, _, last = known[id(value)].rpartition(".")
            sources.append(f"from {package} import {last} as {name}")
        elif inspect.isfunction(value) and value.__globals__ is function.__globals__:
            files[value.__code__.co_filename] = None
    sources += ["".join(linecache.getlines(file)) for file in files]
    return in_sources(sources, [exercise]).get(exercise, "")


def _loaded(name):
    package, _, last = name.rpartition(".")
    return getattr(sys.modules.get(package), last, None)


class _Names:
    """What the cells of a notebook define, and under which names they know the libraries.

    :param last_names: what is looked for in a library of which everything is imported
    """

    def __init__(self, last_names):
        self.last_names = last_names
        self.definitions = defaultdict(list)
        self.aliases = defaultdict(set)

    def add(self, tree):
        """Take down those of a cell."""
        for node, in_function in _nodes(tree):
            match node:
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    if not in_function:
                        self.definitions[name].append(node)
                case ast.Import(names=names):
                    for alias in names:
                        whole = alias.name if alias.asname else alias.name.partition(".")[0]
                        self.aliases[alias.asname or whole].add(whole)
                case ast.ImportFrom(module=str(module), names=names):
                    for alias in names:
                        found = self.last_names if alias.name == "*" else {alias.name}
                        for name in found:
                            self.aliases[alias.asname or name].add(f"{module}.{name}")
            for name, value in _assigned(node):
                self.aliases[name] |= self.full_names(value)
                if not in_function:
                    self.definitions[name].append(value)

    def full_names(self, node):
        """The library names that an expression may stand for: ``F.relu`` for torch's, say."""
        path = []
        base, attribute = _attribute(node)
        while attribute:
            path.insert(0, attribute)
            node = base
            base, attribute = _attribute(node)
        match node:
            case ast.Name(id=name):
                found = self.aliases.get(name, ())
            case ast.Call(
                func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                found = {name}
            case _:
                found = ()
        return {".".join([name, *path]) for name in found}


class _Search:
    """A search for what one answer may not use, known by package and last name."""

    def __init__(self, names, not_allowed):
        self.names, self.not_allowed = names, not_allowed
        self.last_names = {last for _, last in not_allowed}

    def used_by(self, function):
        """What is not allowed and can be reached from the function of this name; else ""."""
        definitions = self.names.definitions
        if function not in definitions:
            found = sorted(self.names.aliases.get(function, ()))
            return next(filter(self._is_not_allowed, found), "")
        reached, waiting = {function}, [function]
        while waiting:
            for definition in definitions[waiting.pop()]:
                for node in ast.walk(definition):
                    if self._is_use(node):
                        return ast.unparse(node)
                    if isinstance(node, ast.Name) and node.id in definitions.keys() - reached:
                        reached.add(node.id)
                        waiting.append(node.id)
        return ""

    def _is_use(self, node):
        if any(map(self._is_not_allowed, self.names.full_names(node))):
            return True
        # A method of who knows what, such as the softmax of a tensor.
        base, attribute = _attribute(node)
        own = isinstance(base, ast.Name) and base.id in ("self", "cls")
        return attribute in self.last_names and not own and not self.names.full_names(base)

    def _is_not_allowed(self, name):
        return _known_by(name) in self.not_allowed


def _nodes(tree):
    """All nodes, the outer ones first, each with whether it stands inside of a function."""
    waiting = deque([(tree, False)])
    while waiting:
        node, in_function = waiting.popleft()
        yield node, in_function
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting += ((child, in_function or inside) for child in ast.iter_child_nodes(node))


def _assigned(node):
    """The names that a node gives a value to, each with the value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            targets = [target]
        case _:
            return
    for target in targets:
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                yield name.id, value


def _attribute(node):
    """What an expression takes an attribute of, and the attribute's name; None twice if none."""
    match node:
        case ast.Attribute(value=base, attr=name):
            return base, name
        case ast.Call(func=ast.Name(id="getattr"), args=[base, ast.Constant(value=str(name)), *_]):
            return base, name
    return None, None

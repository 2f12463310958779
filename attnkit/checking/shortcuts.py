"""Finds in the source of an answer a library function that is the answer: it is not run for that.

Looked at are the function and what it uses of the other definitions of the notebook. A function is
known by its package and its last name: who may not use ``torch.softmax`` may not use
``torch.nn.functional.softmax`` or the method of a tensor either.
"""

import ast
import functools
import inspect
import linecache
import sys
from collections import defaultdict

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def in_sources(sources, exercise):
    """The name of the function that the answer uses and may not, as it is written; else "".

    :param sources: the texts of the cells of a notebook, in their order
    """
    if not exercise.not_allowed:
        return ""
    search = _Search(exercise.not_allowed)
    for tree in map(_tree, sources):
        if tree:
            search.add(tree)
    return search.used_by(exercise.function)


@functools.lru_cache(maxsize=64)  # the cells of a notebook, which is searched for each exercise
def _tree(source):
    try:
        return ast.parse(source)
    except UNREADABLE:
        return None  # nothing of it runs


def in_function(function, exercise):
    """As ``in_sources``, for a function of the running notebook, where its source can be seen."""
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
    return in_sources(sources, exercise)


def _loaded(name):
    package, _, last = name.rpartition(".")
    return getattr(sys.modules.get(package), last, None)


class _Search:
    def __init__(self, not_allowed):
        self.not_allowed = {
            (name.partition(".")[0], name.rpartition(".")[2]) for name in not_allowed
        }
        self.last_names = {last for _, last in self.not_allowed}
        self.definitions = defaultdict(list)
        self.aliases = defaultdict(set)

    def add(self, tree):
        """Take down what a cell defines and under which names it knows the libraries."""
        for node in _outside_functions(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.definitions[name].append(node)
                case ast.ClassDef(name=name):
                    self.definitions[name].append(node)
            for name, value in _assigned(node):
                self.definitions[name].append(value)
        for node in ast.walk(tree):
            match node:
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
                self.aliases[name] |= self._full_names(value)

    def used_by(self, function):
        """What is not allowed and can be reached from the function of this name."""
        if function not in self.definitions:
            return next(filter(self._is_not_allowed, sorted(self.aliases[function])), "")
        reached, waiting = {function}, [function]
        while waiting:
            for definition in self.definitions[waiting.pop()]:
                for node in ast.walk(definition):
                    if self._is_use(node):
                        return ast.unparse(node)
                    if isinstance(node, ast.Name) and node.id in self.definitions.keys() - reached:
                        reached.add(node.id)
                        waiting.append(node.id)
        return ""

    def _is_use(self, node):
        if any(map(self._is_not_allowed, self._full_names(node))):
            return True
        # A method of who knows what, such as the softmax of a tensor.
        base, attribute = _attribute(node)
        own = isinstance(base, ast.Name) and base.id in ("self", "cls")
        return attribute in self.last_names and not own and not self._full_names(base)

    def _is_not_allowed(self, name):
        return (name.partition(".")[0], name.rpartition(".")[2]) in self.not_allowed

    def _full_names(self, node):
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


def _outside_functions(tree):
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(node)))


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

"""Writes an answer that an exercise knows, right or wrong, as a learner would: in one cell."""

import ast
import inspect
import textwrap
import types


def as_cell(exercise, answer):
    """The answer under the exercise's name, below the functions of attnkit that it calls."""
    helpers = _Helpers()
    definition = _definition(answer, exercise.function, helpers)
    return "\n\n".join([*helpers.imports, *helpers.texts, definition]) + "\n"


class _Helpers:
    """The functions that stand in the cell, each once under a name of its own."""

    def __init__(self):
        self.names, self.texts, self.imports = {}, [], []

    def add(self, function):
        if function not in self.names:
            name = f"my_{function.__name__.strip('_')}"
            taken = sum(other.rstrip("_") == name for other in self.names.values())
            self.names[function] = name + "_" * taken
            self.texts.append(_definition(function, self.names[function], self))
        return self.names[function]


def _definition(function, name, helpers):
    function = inspect.unwrap(function)
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    node.name, node.decorator_list = name, []
    if ast.get_docstring(node):
        node.body = node.body[1:]
    return ast.unparse(ast.fix_missing_locations(_Own(function, helpers).visit(node)))


class _Own(ast.NodeTransformer):
    """Calls of attnkit's functions become calls of functions that stand in the same cell."""

    def __init__(self, function, helpers):
        self.helpers = helpers
        local = function.__code__.co_varnames
        known = function.__globals__ | inspect.getclosurevars(function).nonlocals
        self.known = {name: value for name, value in known.items() if name not in local}

    def visit_Name(self, node):
        return self._written(self.known.get(node.id)) or node

    def visit_Attribute(self, node):
        module = self.known.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(module, types.ModuleType):
            return self._renamed(getattr(module, node.attr)) or node
        return self.generic_visit(node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "array_namespace":
            return ast.Name("np", ast.Load())
        node.keywords = [each for keyword in node.keywords for each in self._spread(keyword)]
        return self.generic_visit(node)

    def _spread(self, keyword):
        """``**options`` that are known, one by one."""
        options = None if keyword.arg else self.known.get(getattr(keyword.value, "id", None))
        if not isinstance(options, dict):
            return [keyword]
        return [ast.keyword(name, self._written(value)) for name, value in options.items()]

    def _written(self, value):
        """How a value that is known is written in the cell, if it is not by its own name."""
        if isinstance(value, str | int | float | tuple):
            return ast.parse(repr(value), mode="eval").body
        if isinstance(value, type):
            line = f"from {value.__module__} import {value.__name__}"
            self.helpers.imports += [line] * (line not in self.helpers.imports)
        return self._renamed(value)

    def _renamed(self, value):
        if not (inspect.isfunction(value) and value.__module__.startswith("attnkit.")):
            return None
        return ast.Name(self.helpers.add(value), ast.Load())

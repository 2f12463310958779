"""Makes wrong answers by machine: small changes to the syntax tree of a solution."""

import ast
import copy

SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
TURNED = (ast.Sub, ast.Div, ast.MatMult, ast.Pow)
RENAMED = {"max": "min", "min": "max", "sum": "mean", "mean": "sum"}


def mutants(source):
    """Each source that differs from ``source`` by one small change, with the change in words."""
    tree = ast.parse(source)
    plain = ast.unparse(tree)
    for index, node in enumerate(ast.walk(tree)):
        for change, replacement in _replacements(node):
            mutant = _Replace(index, replacement).visit(_numbered(tree))
            text = ast.unparse(ast.fix_missing_locations(mutant))
            if text != plain:
                yield change, text


def _numbered(tree):
    tree = copy.deepcopy(tree)
    for index, node in enumerate(ast.walk(tree)):
        node.index = index
    return tree


class _Replace(ast.NodeTransformer):
    def __init__(self, index, replacement):
        self.index = index
        self.replacement = replacement

    def visit(self, node):
        if getattr(node, "index", None) == self.index:
            return self.replacement
        return self.generic_visit(node)


def _replacements(node):
    """What may stand in a node's place: a changed sign, a dropped term, a turned product, ..."""
    for replacement in _candidates(node):
        yield f"{ast.unparse(node)}  ->  {ast.unparse(replacement) or 'nothing'}", replacement


def _candidates(node):
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield left
            yield right
            if type(op) in SWAPPED:
                yield ast.BinOp(left, SWAPPED[type(op)](), right)
            if isinstance(op, TURNED):
                yield ast.BinOp(right, op, left)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Attribute(value=value, attr="mT"):
            yield value
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=keywords):
            if name in RENAMED:
                called = ast.Attribute(owner, RENAMED[name], ast.Load())
                yield ast.Call(called, args, keywords)
            if len(args) == 1:
                yield args[0]
            for dropped in keywords:
                yield ast.Call(node.func, args, [k for k in keywords if k is not dropped])
        case ast.Call(func=ast.Name(), args=[only], keywords=[]):
            yield only
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.If(body=body):
            yield ast.Pass()
            yield ast.If(ast.Constant(True), body, [])
        case ast.Tuple(elts=[first, second], ctx=ast.Load()):
            yield ast.Tuple([second, first], ast.Load())
        case ast.Tuple(elts=[*front, first, second], ctx=ast.Load()):
            yield ast.Tuple([*front, second, first], ast.Load())

"""Small faults in Python, found in its syntax tree."""

import ast
import copy
from collections.abc import Iterable

from mutations.mutation import Found, Mutation, numbered

LONGEST = 160
"""Characters of the text that a fault is known by."""
FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OF_NO_EFFECT = {"strict", "frozen", "slots", "kw_only", "repr", "use_attribute_docstrings"}
"""Keywords whose True or False only programmers notice."""
LEAVES = (ast.Return, ast.Raise, ast.Continue)


def mutations_in(file: str, source: str) -> list[Mutation]:
    """Give every fault that can be put into a Python file."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return numbered(file, source, finder.found)


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.scope: list[str] = []
        self.parents: list[ast.AST] = []
        self.found: list[Found] = []

    # --- Where things are ---------------------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        self.parents.append(node)
        super().visit(node)
        self.parents.pop()

    def _offset(self, line: int, column: int) -> int:
        # The tree counts bytes.
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, (ast.expr, ast.stmt))
        assert node.end_lineno
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _add(self, kind: str, node: ast.AST, becomes: str, shown: ast.AST | str | None = None) -> None:
        start, end = self._span(node)
        shown = shown or node
        text = " ".join((shown if isinstance(shown, str) else ast.unparse(shown)).split())
        self.found.append(Found(".".join(self.scope), kind, text[:LONGEST], start, end, becomes))

    def _around(self) -> ast.AST:
        """Give what a constant stands in, which says more than the constant."""
        return next(
            node for node in reversed(self.parents[:-1]) if not isinstance(node, (ast.keyword, ast.Starred))
        )

    # --- What is looked into ------------------------------------------------------------------------------------------

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node:
                self.visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:  # as `ast` names it
        self.scope.append(node.name)
        self._visit_all(node.body)
        self.scope.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.scope.append(node.name)
        self._visit_all([*node.args.defaults, *node.args.kw_defaults, *node.body])
        self.scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # the name that ast looks for

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all([node.value])

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave these out: before Python 3.12 nobody knows where in the file they are."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave these out: they are for type checkers."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in OF_NO_EFFECT:
            self.generic_visit(node)

    # --- What is changed ----------------------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[place] = FLIPPED[type(operator)]()
            self._add("comparison", node, f"({ast.unparse(changed)})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add("and/or", node, f"({ast.unparse(changed)})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._add("not", node, f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Sub) or (isinstance(node.op, ast.Add) and _is_number(node)):
            changed = copy.deepcopy(node)
            changed.op = ast.Add() if isinstance(node.op, ast.Sub) else ast.Sub()
            self._add("arithmetic", node, f"({ast.unparse(changed)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("boolean", node, str(not node.value), self._around())
        elif isinstance(node.value, int):
            self._add("number", node, f"({node.value + 1})", self._around())

    def visit_IfExp(self, node: ast.IfExp) -> None:
        changed = copy.deepcopy(node)
        changed.body, changed.orelse = changed.orelse, changed.body
        self._add("choice", node, f"({ast.unparse(changed)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        start, end = self._span(node.test)
        self._negate(node.test)
        if isinstance(node.body[-1], LEAVES) and not node.orelse:
            shown = f"if {ast.unparse(node.test)}: {ast.unparse(node.body[-1])}"
            self._add("guard", node.test, f"({self.source[start:end]}) and False", shown)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        # One comparison is flipped already, and a `not` is taken away.
        if isinstance(test, (ast.Compare, ast.UnaryOp)):
            return
        start, end = self._span(test)
        self._add("condition", test, f"not ({self.source[start:end]})")

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(called, ast.Call) and not ast.unparse(called.func).startswith(("logger.", "super()")):
            self._add("call", node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add("raise", node, "pass")
        self.generic_visit(node)


def _is_number(node: ast.BinOp) -> bool:
    """Tell whether a sum is surely one of numbers, and not of texts or lists."""
    return any(
        (isinstance(side, ast.Constant) and isinstance(side.value, (int, float)))
        or (isinstance(side, ast.Call) and ast.unparse(side.func) == "len")
        for side in (node.left, node.right)
    )

"""How decompositions are shown: a LaTeX table in a notebook, a Unicode table in a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import sympy as sp
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.str import StrPrinter

from symamp.formulas.arrangement import arranged
from symamp.formulas.parameter import Parameter
from symamp.numbers.optional import optional

if TYPE_CHECKING:
    from rich.table import Table


# --------------------------------------------------------------------------------------------- Where a picture is drawn


def axes_for(ax: Any, **options: Any) -> Any:
    """Return the matplotlib Axes that are given, or new ones made with these options."""
    if ax is not None:
        return ax
    return optional("matplotlib.pyplot", "symamp[plot]").subplots(**options)[1]


# ---------------------------------- How decompositions look: a LaTeX table in a notebook, a Unicode table in a terminal

# Both are set as in the papers: t for e^eps0 (s for e^(eps0/2) where that occurs), E for e^eps, and a legend.

_MOST_BITS = 14_000  # Python writes integers of up to 4300 digits
_EPS0 = sp.Symbol("eps0", real=True)
_T, _S = Parameter("t", lower=1), Parameter("s", lower=1)
_E = sp.Symbol("E", positive=True)
_LATEX_NAMES = {"eps0": r"\varepsilon_0", "eps": r"\varepsilon"}
# ``sympy.latex`` knows Greek letters by their names; a caller's own symbol_names take the place of these.
LatexPrinter.set_global_settings(symbol_names={sp.Symbol(x, real=True): name for x, name in _LATEX_NAMES.items()})


class ShownInLatex:
    """What a notebook shows in LaTeX, for papers, too."""

    def to_latex(self) -> str:
        r"""Return what notebooks show, without the signs around it.

        >>> import symamp as sa
        >>> sa.RandomizedResponse(k=2).blanket().to_latex().startswith(r"\begin{array}")
        True
        >>> sp.latex(sa.RandomizedResponse(k=2).blanket().gamma)
        '\\frac{2}{e^{\\varepsilon_0} + 1}'
        """
        shown: str = self._repr_latex_()  # type: ignore[attr-defined]
        return shown.strip("$").removeprefix(r"\displaystyle ")


Components: TypeAlias = Any
"""A ``Decomposition``, which is made of what is here."""


class Setting(NamedTuple):
    """The rows (R(x0)/m, R(x1)/m, mass, GPARV value), gamma, the singular masses and the legend of a table."""

    rows: tuple[tuple[sp.Expr, sp.Expr, sp.Expr, sp.Expr], ...]
    null_mass: sp.Expr
    gamma: sp.Expr
    singular: tuple[tuple[sp.Expr, sp.Expr], ...]
    legend: tuple[tuple[sp.Symbol, sp.Expr], ...]


def setting(decomposition: Components) -> Setting:
    """Return the decomposition in the short symbols of the papers, with their legend."""
    names = {p.name for p in decomposition.parameters}
    half = any(e.has(sp.exp(_EPS0 / 2)) or e.has(sp.exp(-_EPS0 / 2)) for c in decomposition.components for e in c)
    letter, value = (_S, _EPS0 / 2) if half else (_T, _EPS0)
    usable = letter.name not in names and "eps0" in names

    parameters = (letter, *decomposition.parameters) if usable else decomposition.parameters

    def short(expr: sp.Expr) -> sp.Expr:
        if usable:
            power = sp.Wild("power", exclude=[_EPS0])
            expr = expr.replace(sp.exp(power * value), letter.symbol**power)
        return arranged(expr, parameters, (text, _widest, _visible))

    rows = tuple(
        (short(r0), short(r1), short(mass), short(r0) - _E * short(r1)) for r0, r1, mass in decomposition.components
    )
    legend = ((letter.symbol, sp.exp(value)),) if usable else ()
    singular = tuple((short(a), short(b)) for a, b in decomposition.singular)
    legend = (*legend, (_E, sp.exp(sp.Symbol("eps", real=True))))
    return Setting(rows, short(1 - decomposition.gamma), short(decomposition.gamma), singular, legend)


class _PositiveFirst:
    """Sums start with a term without a minus where there is one: k - d rather than -d + k."""

    def _as_ordered_terms(self, expr: sp.Expr, order: str | None = None) -> list[sp.Expr]:
        terms = list(super()._as_ordered_terms(expr, order))  # type: ignore[misc]
        return sorted(terms, key=lambda t: bool(t.as_coeff_Mul()[0] < 0)) if terms[0].as_coeff_Mul()[0] < 0 else terms


class _Text(_PositiveFirst, StrPrinter):  # type: ignore[misc]
    """SymPy's text with exp(1) for Euler's number, because E is e^eps in this field, and 1/x**2 for x**(-2)."""

    def _print_Exp1(self, expr: sp.Expr) -> str:  # noqa: N802
        return "exp(1)"

    def _print_Pow(self, expr: sp.Expr, rational: bool = False) -> str:  # noqa: N802
        if expr.exp.could_extract_minus_sign() and not expr.exp.is_Add and expr.exp != -1:
            return f"1/{self.parenthesize(1 / expr, PRECEDENCE['Mul'])}"
        return str(super()._print_Pow(expr, rational))


class _Latex(_PositiveFirst, LatexPrinter):  # type: ignore[misc]
    pass


class _Pretty(_PositiveFirst, PrettyPrinter):  # type: ignore[misc]
    pass


def _as_typed(expr: sp.Expr) -> sp.Expr:
    """Put names such as 0.1 for the fractions that doubles are, where the fraction is longer; round the endless."""
    swap = {}
    for number in expr.atoms(sp.Rational):
        size = abs(number)
        if max(size.p.bit_length(), size.q.bit_length()) > _MOST_BITS:
            swap[number] = sp.Symbol(f"{sp.N(size, 10)}...".lower(), positive=True) * sp.sign(number)
        elif size.q.bit_count() == 1 and size.q.bit_length() < 1000 and size.p.bit_length() <= 53:
            name = repr(float(size))
            if len(name) < len(str(size)) and "e" not in name:
                swap[number] = sp.Symbol(name, positive=True) * sp.sign(number)
    return expr.xreplace(swap) if swap else expr


def text(expr: sp.Expr) -> str:
    """Return the formula on one line.

    A number that is a double, such as 0.1 typed as a float, is written as that: 0.1, which is not the exact 1/10.

    >>> text(1 + sp.E), text(sp.exp(sp.Rational(*(0.1).as_integer_ratio()))), text(sp.Rational(1, 10))
    ('1 + exp(1)', 'exp(0.1)', '1/10')
    """
    return str(_Text().doprint(_as_typed(expr)))


def latex(expr: sp.Expr) -> str:
    """Return the formula in LaTeX, with the field's names for the budgets."""
    names = {s: _LATEX_NAMES[s.name] for s in expr.free_symbols if s.name in _LATEX_NAMES}
    return str(_Latex({"symbol_names": names}).doprint(_as_typed(expr)))


def _widest(expr: sp.Expr) -> str:
    """The longest line of the formula in Unicode."""
    return max(_pretty(expr).splitlines(), key=len)


def _visible(expr: sp.Expr) -> str:
    """The LaTeX of the formula without what only places it: its length is that of what is seen."""
    return re.sub(r"\\left|\\right|\\frac|[{}\s]", "", latex(expr))


def decomposition_latex(decomposition: Components) -> str:
    """Return a LaTeX table of components and GPARV values, with gamma and the legend."""
    shown = setting(decomposition)
    rows = [" & ".join(map(latex, row)) for row in shown.rows] + [rf"\text{{null}} & & {latex(shown.null_mass)} & 0"]
    head = r"R(x_0)/m & R(x_1)/m & \text{mass} & \text{GPARV } G \\ \hline "
    lines = [rf"\gamma = {latex(shown.gamma)},\quad {_legend_latex(shown)}"]
    lines += [rf"\text{{no blanket: }} R(x_0) = {latex(a)},\ R(x_1) = {latex(b)}" for a, b in shown.singular]
    return _table_latex("cccc", head + r" \\ ".join(rows), *lines)


def triple_latex(others: tuple[str, ...], triples: tuple[Components, ...]) -> str:
    """Return a LaTeX table of the triples (R(x0), R(x1), R(x)), one block of rows for each other input x."""
    body = r"x & R(x_0)/R(x) & R(x_1)/R(x) & \text{mass} & G "
    for x, law in zip(others, triples, strict=True):
        shown = setting(law)
        cells = [" & ".join(map(latex, row)) for row in shown.rows]
        cells += [rf"\infty & \infty & R(x_0) = {latex(a)},\ R(x_1) = {latex(b)} & " for a, b in shown.singular]
        body += r"\\ \hline " + r" \\ ".join(rf"\text{{{x if i == 0 else ''}}} & {row}" for i, row in enumerate(cells))
    return _table_latex("ccccc", body, _legend_latex(setting(triples[0])))


def _legend_latex(shown: Setting) -> str:
    return r",\quad ".join(rf"{latex(symbol)} = {latex(value)}" for symbol, value in shown.legend)


def _table_latex(columns: str, body: str, *lines: str) -> str:
    table = rf"\begin{{array}}{{{columns}}}{body}\end{{array}}"
    return r"$\displaystyle \begin{array}{l}" + r" \\[1em] ".join((table, *lines)) + r"\end{array}$"


def triple_text(others: tuple[str, ...], triples: tuple[Components, ...]) -> str:
    """Return the same as plain Unicode text."""
    table = _table(f"envelope for inputs {', '.join(triples[0].pair)}", "x", "R(x0)/R(x)", "R(x1)/R(x)")
    for x, law in zip(others, triples, strict=True):
        shown = setting(law)
        for i, row in enumerate(shown.rows):
            table.add_row(x if i == 0 else "", *map(_pretty, row), end_section=i == len(shown.rows) - 1)
        _add_singular(table, shown, "", "oo", "oo")
    return _rendered(table, ", ".join(_legend(triples[0])))


def decomposition_table(decomposition: Components) -> Table:
    """Return a table for rich of components, masses and GPARV values."""
    shown = setting(decomposition)
    table = _table(f"blanket decomposition for inputs {', '.join(decomposition.pair)}", "R(x0)/m", "R(x1)/m")
    for row in shown.rows:
        table.add_row(*map(_pretty, row), end_section=True)
    table.add_row("null", "null", _pretty(shown.null_mass), "0", end_section=True)
    _add_singular(table, shown, "no blanket", "no blanket")
    return table


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title)
    for column in (*columns, "mass", "GPARV value"):
        table.add_column(column, vertical="middle")
    return table


def _add_singular(table: Table, shown: Setting, *first: str) -> None:
    for a, b in shown.singular:
        table.add_row(*first, f"{_pretty(a)}\nand\n{_pretty(b)}", "names its sender")


def decomposition_text(decomposition: Components) -> str:
    """Return the table as plain Unicode text, with gamma and the legend below it."""
    return _rendered(decomposition_table(decomposition), gamma_line(decomposition))


def _rendered(table: Table, line: str) -> str:
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    console = Console(file=out, width=110, color_system=None, force_jupyter=False)
    console.print(table)
    console.print(line, highlight=False)
    return "\n".join(row.rstrip() for row in out.getvalue().splitlines())


def gamma_line(decomposition: Components) -> str:
    """Return one line that states gamma, the legend and the ranges of the free parameters."""
    shown = setting(decomposition)
    return ", ".join([f"gamma = {text(shown.gamma)}", *_legend(decomposition)])


def _legend(decomposition: Components) -> list[str]:
    parts = [f"{symbol} = {text(value)}" for symbol, value in setting(decomposition).legend]
    ranges = ", ".join(p.describe() for p in decomposition.parameters)
    return [*parts[:-1], f"{parts[-1]}, for {ranges}" if ranges else parts[-1]]


def _pretty(expr: sp.Expr) -> str:
    return str(_Pretty({"use_unicode": True}).doprint(_as_typed(expr)))

"""Closed forms of the clone papers and of those before them: functions of eps0, n and delta alone."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from flint import arb

from symamp.bounds.hypotheses import SHUFFLED, Hypothesis, ProofStatus, every
from symamp.bounds.subject import Subject
from symamp.literature.closed_form import ClosedForm, Condition, Provenance, Setting, log_one_plus, root
from symamp.randomizers.families.randomized_response import RandomizedResponse


def _efmrtt_conditions(s: Setting, delta: arb) -> tuple[Condition, ...]:
    return (
        Condition("eps0 < 1/2", s.eps0 < arb(1) / 2),
        Condition("n >= 1000", s.n >= 1000),
        Condition("delta < 1/100", delta < arb(1) / 100),
    )


def _cheu_shares(s: Setting) -> arb:
    """Return the expected number of messages that binary response replaces by a fair coin."""
    return 2 * arb(s.n) / (s.t + 1)


def _cheu(s: Setting, delta: arb) -> arb:
    shares = _cheu_shares(s)
    left = shares - root(2 * shares * (2 / delta).log())
    return root(32 * (4 / delta).log() / left) * (1 - left / s.n) if left > 0 else arb("nan")


def _cheu_conditions(s: Setting, delta: arb) -> tuple[Condition, ...]:
    shares, log4 = _cheu_shares(s), (4 / delta).log()
    return (Condition("14 log(4/delta) <= 2n/(e^eps0 + 1) <= n", 14 * log4 <= shares and shares <= s.n),)


def _not_binary(subject: Subject) -> str | None:
    binary = isinstance(subject, RandomizedResponse) and subject["k"] == sp.Integer(2)
    return None if binary else "here they run another: the formula is for that one alone"


BINARY_ONLY = (
    *SHUFFLED,
    Hypothesis("binary_response", "All users run binary randomized response.", every(_not_binary)),
)


def _fmt_2022(s: Setting, delta: arb) -> arb:
    t, log4 = s.t, (4 / delta).log()
    return log_one_plus((t - 1) / (t + 1) * (8 * root(t * log4 / s.n) + 8 * t / s.n))


def _at_most(share: int, over: int, less: int = 0) -> Callable[[Setting, arb], tuple[Condition, ...]]:
    """Return the condition e^eps0 <= n/(share log(over/delta)) - less."""
    text = f"eps0 <= log(n/({share} log({over}/delta)){f' - {less}' if less else ''})"
    return lambda s, delta: (Condition(text, s.t <= s.n / (share * (over / delta).log()) - less),)


def _fmt_2022_code(s: Setting, delta: arb) -> arb:
    t = s.t
    a = 8 * root(t * (4 / delta).log() / s.n) + 8 * t / s.n
    return log_one_plus((1 - 1 / t) / (1 + 1 / (t * (1 + a))) * a)


def _fmt_2023(s: Setting, delta: arb) -> arb:
    t = s.t
    return log_one_plus((t - 1) * (4 * root(2 * (4 / delta).log() / ((t + 1) * s.n)) + arb(4) / s.n))


FORMS = (
    ClosedForm(
        "efmrtt_2019",
        ProofStatus.PROVED,
        "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019, main theorem (Wang 2023, section 2)",
        "amplification by shuffling, the first closed form",
        epsilon=lambda s, delta: 12 * s.eps0 * root(-delta.log() / s.n),
        conditions=_efmrtt_conditions,
        provenance=Provenance.RESTATED,
    ),
    ClosedForm(
        "csuzz_2019",
        ProofStatus.PROVED_FOR_CLASS,
        "Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, section 3",
        "binary randomized response",
        epsilon=_cheu,
        conditions=_cheu_conditions,
        hypotheses=BINARY_ONLY,
        provenance=Provenance.RECALLED,
    ),
    ClosedForm(
        "fmt_2022",
        ProofStatus.PROVED,
        "Feldman, McMillan, Talwar 2021, Theorem 3.1",
        "standard clone, closed form",
        epsilon=_fmt_2022,
        conditions=_at_most(16, 2),
        provenance=Provenance.RESTATED,
    ),
    ClosedForm(
        "fmt_2022_code",
        ProofStatus.PROVED,
        "public code of Feldman, McMillan, Talwar 2021, closed form: looser than their Theorem 3.1",
        "standard clone, closed form of the public code",
        epsilon=_fmt_2022_code,
        conditions=_at_most(16, 4),
        provenance=Provenance.CODE,
    ),
    ClosedForm(
        "fmt_2023",
        ProofStatus.PROVED,
        "Feldman, McMillan, Talwar 2023, Theorem 3.2 (published for a class; for all by Theorem B)",
        "stronger clone, closed form",
        epsilon=_fmt_2023,
        conditions=_at_most(8, 2, less=1),
        provenance=Provenance.RESTATED,
    ),
)

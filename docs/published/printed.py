"""What the papers print for the mechanisms of the catalogue.

Su, Cheng, Wang (2025), Tables 1 to 3, and Wang (2023), Tables 1 and 5. Formulas are transcribed; whether they
are right is for ``symamp.literature.audit`` to find.
"""

from __future__ import annotations

from dataclasses import dataclass

from symamp.randomizers.catalogue import by_name
from symamp.randomizers.family import Family

_T1, _T2, _T3 = "Su, Cheng, Wang (2025), Table 1", "Su, Cheng, Wang (2025), Table 2", "Su, Cheng, Wang (2025), Table 3"
_V1, _V5 = "Wang (2023), Table 1", "Wang (2023), Table 5"
_BINARY = (("l", 2),)
_HALF = "1/(2*(exp(eps0) + 1))"
_S = "exp(eps0/2)"


@dataclass(frozen=True)
class Printed:
    """A printed formula: where it stands, which family and quantity it is about, and its text.

    ``quantity`` is p, q, r (the masses of the components (t, 1), (t, t), (1, 1)), null (1 - gamma), or beta and ratio
    (the total variation and the largest ratio of a pair: Wang (2023) calls the latter p).
    ``size`` names the parameter that grows in a limit, if the paper says that it is one or the formula may be one.
    """

    place: str
    slug: str
    quantity: str
    formula: str
    size: str | None = None
    fixed: tuple[tuple[str, object], ...] = ()

    @property
    def family(self) -> Family:
        """The family with the printed sizes fixed."""
        cls = by_name(self.slug)
        assert issubclass(cls, Family)
        return cls(**dict(self.fixed))


def _masses(
    place: str, slug: str, formulas: dict[str, str], size: str | None, fixed: tuple[tuple[str, object], ...] = ()
) -> tuple[Printed, ...]:
    return tuple(Printed(place, slug, quantity, formula, size, fixed) for quantity, formula in formulas.items())


_LIMITS = {
    "local-hashing": {"p": _HALF, "q": _HALF, "r": _HALF},
    "rappor": {
        "p": f"1/({_S} + 1)**2",
        "q": f"1/({_S}*({_S} + 1)**2)",
        "r": f"{_S}/({_S} + 1)**2",
    },
    "oue": {
        "p": _HALF,
        "q": "1/(2*exp(eps0)*(exp(eps0) + 1))",
        "r": "exp(eps0)/(2*(exp(eps0) + 1))",
    },
    "hadamard-response": {"p": _HALF, "q": _HALF, "r": _HALF},
}
_NULLS = {
    "local-hashing": "(exp(eps0) - 1)/(exp(eps0) + 1)",
    "rappor": "1 - exp(-eps0/2)",
    "hadamard-response": "(exp(eps0) - 1)/(exp(eps0) + 1)",
}
_SIZES = {"local-hashing": "D", "rappor": "D", "oue": "D", "hadamard-response": "K"}
_KRR = {"p": "1/(exp(eps0) + k - 1)", "q": "0", "r": "(k - 2)/(exp(eps0) + k - 1)"}


def _fixed(slug: str) -> tuple[tuple[str, object], ...]:
    return _BINARY if slug == "local-hashing" else ()


PRINTED: tuple[Printed, ...] = (
    *_masses(_T1, "krr", {**_KRR, "null": "(exp(eps0) - 1)/(exp(eps0) + k - 1)"}, None),
    *(
        row
        for slug, formulas in _LIMITS.items()
        for row in _masses(
            _T1,
            slug,
            {**formulas, **({"null": _NULLS[slug]} if slug in _NULLS else {})},
            _SIZES[slug],
            _fixed(slug),
        )
    ),
    *_masses(_T2, "krr", _KRR, None),
    *_masses(
        _T2,
        "local-hashing",
        {
            "p": _HALF,
            "q": f"{_HALF} - 1/(2**(D - 1)*(exp(eps0) + 1))",
            "r": f"{_HALF} + exp(eps0)/(2**(D - 1)*(exp(eps0) + 1))",
        },
        None,
        _BINARY,
    ),
    *_masses(
        _T2,
        "rappor",
        {
            "p": f"1/({_S} + 1)**2",
            "q": f"exp(-eps0/2)/({_S} + 1)**2 - exp(-eps0/2)/({_S} + 1)**D",
            "r": f"{_S}/({_S} + 1)**2 + {_S}/({_S} + 1)**D",
        },
        None,
    ),
    *_masses(
        _T2,
        "oue",
        {
            "p": _HALF,
            "q": "exp(-eps0)/(2*(exp(eps0) + 1)) - exp(-eps0)/(2*(exp(eps0) + 1)**(D - 1))",
            "r": "exp(eps0)/(2*(exp(eps0) + 1)) + 1/(2*(exp(eps0) + 1)**(D - 1))",
        },
        None,
    ),
    *_masses(_T2, "hadamard-response", {"p": _HALF, "q": _HALF, "r": _HALF}, "K"),
    *(
        row
        for slug in ("local-hashing", "rappor", "oue")
        for row in _masses(_T3, slug, _LIMITS[slug], _SIZES[slug], _fixed(slug))
    ),
    Printed(_V1, "krr", "beta", "(exp(eps0) - 1)/(exp(eps0) + 1)", None, (("k", 2),)),
    Printed(_V1, "krr", "beta", "(exp(eps0) - 1)/(exp(eps0) + k - 1)"),
    Printed(_V1, "rappor", "beta", f"({_S} - 1)/({_S} + 1)"),
    Printed(
        _V1,
        "subset-selection",
        "beta",
        "(exp(eps0) - 1)*(binomial(d-1, k-1) - binomial(d-2, k-2))/(exp(eps0)*binomial(d-1, k-1) + binomial(d-1, k))",
    ),
    Printed(_V1, "local-hashing", "beta", "(exp(eps0) - 1)/(exp(eps0) + l - 1)"),
    Printed(_V1, "hadamard-response", "beta", "K/2*(exp(eps0) - 1)/2/(K/2*exp(eps0) + K - K/2)"),
    Printed(_V1, "sampling-rappor", "beta", f"s*({_S} - 1)/(d*({_S} + 1))", None, (("s", 2),)),
    Printed(_V1, "pckv-grr", "beta", "s*(exp(eps0) - 1)/(s*exp(eps0) + 2*d - s)"),
    Printed(_V1, "wheel", "beta", "s*p*(exp(eps0) - 1)/(s*p*exp(eps0) + (1 - s*p))"),
    Printed(_V5, "duchi-vector", "beta", "(exp(eps0) - 1)/(exp(eps0) + 1)"),
    Printed(_V5, "duchi-vector-even", "beta", "(exp(eps0) - 1)/(exp(eps0) + 1)"),
    Printed(_V5, "duchi-vector-even", "ratio", "exp(eps0)"),
    Printed(_V5, "harmony", "beta", "(exp(eps0) - 1)/(exp(eps0) + 1)"),
    Printed(_V5, "block-hadamard", "beta", "b/2*(exp(eps0) - 1)/(b/2*exp(eps0) + B*b - b/2)"),
    Printed(
        _V5,
        "subset-exponential",
        "beta",
        "(exp(eps0) - 1)*(binomial(d - s, k) - binomial(d - 2*s, k))"
        "/(exp(eps0)*(binomial(d, k) - binomial(d - s, k)) + binomial(d - s, k))",
    ),
    Printed(_V5, "collision", "beta", "s*(exp(eps0) - 1)/(s*exp(eps0) + l - s)"),
    Printed(_V5, "collision-narrow", "beta", "(l - s)*(exp(eps0) - 1)/(s*exp(eps0) + l - s)"),
    Printed(_V5, "priv-kv", "ratio", "exp(eps0)"),
    Printed(
        _V5,
        "priv-kv",
        "beta",
        # eps1 = eps2 = eps0/2; the maximum of the two printed terms is decided by their order, which is proved.
        f"2*s*({_S} - 1 + ({_S} - 1)/(2*({_S} + 1)))/(d*({_S} + 1))",
    ),
)

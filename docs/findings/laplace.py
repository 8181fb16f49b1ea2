"""Laplace noise on [0, 1]: blanket of the worst pair, least proved bound, best data set; and a few inputs only."""

import sympy as sp

import symamp as sa

X, Y = sp.symbols("x y", real=True)


def row(mechanism: object, n: int, blanket: str, method: str | None = None) -> str:
    """Return the columns of one question: lower end, least upper end, blanket, and both ratios to the lower end."""
    least = sa.epsilon(mechanism, n=n, delta="1e-6", method=method)
    top = sa.epsilon(mechanism, n=n, delta="1e-6", method=blanket).bound.upper
    low, high = least.decimals()
    ratios = f"{least.upper / least.lower:.4f} | {top / least.lower:.4f}"
    return f"{low} | {high} ({least.method}) | {top:.10g} | {ratios} |"


if __name__ == "__main__":
    columns = "lower | least upper (analysis) | blanket | upper/lower | blanket/lower |"
    print(f"| eps0 | n | {columns}\n| --- | --- | --- | --- | --- | --- | --- |")
    for n in (10**3, 10**6):
        for eps0 in ("0.1", "1", "4"):
            print(f"| {eps0} | {n} | {row(sa.Laplace(eps0=eps0), n, 'worst_pair')}")
    print(f"\n| inputs | eps0 | n | {columns}\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for inputs in (["0", "1"], ["0", "1/2", "1"], ["0", "1/4", "1/2", "3/4", "1"]):
        for n in (10**3, 10**6) if len(inputs) < 5 else (10**6,):
            for eps0 in (1, 4):
                noise = sa.DensityMechanism(eps0 * sp.exp(-eps0 * sp.Abs(Y - X)) / 2, inputs=inputs)
                print(f"| {', '.join(inputs)} | {eps0} | {n} | {row(noise, n, 'density_pairs', 'density_data_sets')}")

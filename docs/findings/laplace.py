"""Laplace noise on [0, 1]: blanket of the worst pair, least proved bound, and the best data set at the ends."""

import symamp as sa

if __name__ == "__main__":
    print("| eps0 | n | lower | least upper (analysis) | blanket of (0, 1) | blanket/lower |")
    print("| --- | --- | --- | --- | --- | --- |")
    for n in (10**3, 10**6):
        for eps0 in ("0.1", "1", "4"):
            noise = sa.Laplace(eps0=eps0)
            least = sa.epsilon(noise, n=n, delta="1e-6")
            blanket = sa.epsilon(noise, n=n, delta="1e-6", method="worst_pair")
            (low, high), (_, top) = least.decimals(), blanket.decimals()
            ratio = blanket.upper / blanket.lower
            print(f"| {eps0} | {n} | {low} | {high} ({least.method}) | {top} | {ratio:.4f} |")

"""A top-1 router of a mixture of experts: it learns with a surrogate gradient, and not without.

Every point goes to the one expert whose logit is largest: `Hardmax`. Its gradient is zero, so the
router's own weights never move, unless `surrogate` gives the derivative of softmax in its place.
The choice itself has the same bytes either way.
"""

import jax
import jax.numpy as jnp
import numpy as np

import maxhard as mh

POINTS, EXPERTS, STEPS = 1024, 4, 300


def main() -> None:
    """Train one router with each gradient and compare; then route logits of bfloat16."""
    points, kinds, targets, rules = data()
    print("gradient  loss    points of each expert  purity")
    for surrogate in (None, "softmax"):
        loss, choice = train(points, targets, rules, surrogate)
        load = choice.sum(axis=0).astype(int).tolist()
        print(f"{surrogate or 'zero':8}  {loss:.4f}  {load!s:21}  {purity(choice, kinds):.0%}")
    print()
    ties()


def data() -> tuple[jax.Array, np.ndarray, jax.Array, np.ndarray]:
    """Points of four kinds, each kind around a centre and with a linear rule of its own."""
    rng = np.random.default_rng(5)
    kinds = rng.integers(EXPERTS, size=POINTS)
    centres = np.array([[2, 2], [2, -2], [-2, 2], [-2, -2]])
    points = centres[kinds] + 0.5 * rng.standard_normal((POINTS, 2))
    rules = 2 * rng.standard_normal((2, EXPERTS))
    targets = (points * rules.T[kinds]).sum(axis=1)
    return jnp.asarray(points, "float32"), kinds, jnp.asarray(targets, "float32"), rules


def train(
    points: jax.Array, targets: jax.Array, rules: np.ndarray, surrogate: str | None
) -> tuple[float, np.ndarray]:
    """The loss after training, and which expert each point goes to, one-hot."""
    logits = mh.Input("logits", "float32", ("points", EXPERTS))
    route = mh.compile(mh.hardmax(logits, surrogate=surrogate))

    def loss(weights: tuple[jax.Array, jax.Array]) -> jax.Array:
        router, experts = weights
        errors = (points @ experts - targets[:, None]) ** 2  # of each expert on each point
        return (route(points @ router) * errors).sum(axis=1).mean()

    @jax.jit
    def step(weights: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        gradient = jax.grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient)

    rng = np.random.default_rng(2)
    router = jnp.asarray(0.01 * rng.standard_normal((2, EXPERTS)), "float32")  # knows nothing
    experts = jnp.asarray(rules + 0.5 * rng.standard_normal((2, EXPERTS)), "float32")
    weights = (router, experts)
    for _ in range(STEPS):
        weights = step(weights)
    if surrogate is None:
        assert (weights[0] == router).all()  # a gradient of zero, exactly
    return float(loss(weights)), np.asarray(route(points @ weights[0]))


def purity(choice: np.ndarray, kinds: np.ndarray) -> float:
    """The share of points whose expert serves no other kind more than theirs."""
    counts = np.array([choice[kinds == kind].sum(axis=0) for kind in range(EXPERTS)])
    return float(counts.max(axis=0).sum() / len(kinds))


def ties() -> None:
    """Sixteen bits leave few values between close logits: thousands of rows have a tied maximum."""
    rng = np.random.default_rng(0)
    logits = jnp.asarray(1 + 0.02 * rng.standard_normal((8192, 64)), "bfloat16")
    is_max = logits == logits.max(axis=1, keepdims=True)
    tied = int((is_max.sum(axis=1) > 1).sum())
    choice = mh.hardmax(logits)
    ones = np.asarray(choice.astype("float32").sum(axis=1))
    naive = np.asarray(is_max.sum(axis=1))
    print(f"bfloat16: {tied} of {len(ones)} rows have a tied maximum")
    print(f"rows that sum to one: {(ones == 1).sum()} by Hardmax, {(naive == 1).sum()} by x == max")


if __name__ == "__main__":
    main()

"""Handwritten digits, classified by Max and Hardmax alone, with the same bytes on every library.

Each of K exemplars per class gives one matrix of similarities (images x classes). Max over the K
matrices keeps the best exemplar of each class; Hardmax over the classes votes for the best class.
"""

import numpy as np
from sklearn.datasets import load_digits

import maxhard as mh

K = 50
CLASSES = 10


def main() -> None:
    """Print the graph, its accuracy, and whether the installed libraries agree."""
    similarities, labels = data()
    inputs = [mh.Input(f"s{i}", "float32", ("images", CLASSES)) for i in range(K)]
    graph = mh.Graph(mh.hardmax(mh.maximum(*inputs), axis=-1))
    lines = str(graph).splitlines()
    print(*lines[:2], "...", *lines[-4:], sep="\n", end="\n\n")

    expected = mh.compile(graph, backend="numpy")(*similarities)
    accuracy = np.mean(expected.argmax(axis=1) == labels)
    print(f"{accuracy:.1%} of {len(labels)} images are classified right\n")

    for name, version in mh.backends().items():
        try:
            votes = mh.compile(graph, backend=name)(*similarities)
        except mh.MissingBackendError:
            print(f"{name:17} {version}")
            continue
        same = on_host(votes).tobytes() == expected.tobytes()
        print(f"{name:17} {version:10} {'the same bytes' if same else 'OTHER BYTES'}")
        assert same


def data() -> tuple[list[np.ndarray], np.ndarray]:
    """K matrices of similarities, and the labels of the images that are no exemplars."""
    images, labels = load_digits(return_X_y=True)
    images = images.astype(np.float32)
    exemplars = np.empty((K, CLASSES), dtype=int)
    for c in range(CLASSES):
        members = np.flatnonzero(labels == c)
        exemplars[:, c] = members[np.linspace(0, len(members) - 1, K).astype(int)]
    others = np.setdiff1d(np.arange(len(labels)), exemplars)
    return [similarity(images[others], images[row]) for row in exemplars], labels[others]


def similarity(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Minus the squared distance; exact in float32, as the pixels are integers up to 16."""
    return 2 * a @ b.T - np.sum(a * a, axis=1)[:, None] - np.sum(b * b, axis=1)


def on_host(array: object) -> np.ndarray:
    """An array of any library as NumPy's."""
    return np.asarray(array.get() if hasattr(array, "get") else array)  # get: from CuPy's device


if __name__ == "__main__":
    main()

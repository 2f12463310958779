"""The saliency model and attention pooling, held to oracles that others wrote, and their data."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from attnkit import cognition as cog
from attnkit.data import cognition as data
from attnkit.exercises.cognition import scanpath
from tests.arrays import close

F, H, W = 4, 17, 23  # all different, so that a wrong axis cannot hide
EIGHT = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], bool)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def image(rng):
    return rng.random((H, W, 3))


# ------------------------------------------------------------------ from picture to contrast


def test_colours_are_those_of_the_paper_pixel_by_pixel(image):
    maps = cog.feature_maps(image)
    for row in range(H):
        for column in range(W):
            r, g, b = image[row, column]
            yellow = (r + g) / 2 - abs(r - g) / 2 - b
            wanted = [r - (g + b) / 2, g - (r + b) / 2, b - (r + g) / 2, yellow]
            close(maps[1:5, row, column], np.maximum(wanted, 0))
    close(maps[0], image.mean(-1))


def test_edges_are_the_double_angle_of_scipys_gradient(image):
    """Strength times cosine and sine of twice the angle, each in its positive and negative part."""
    bright = image.mean(-1)
    down, across = (ndimage.correlate1d(bright, [-1, 0, 1], axis) for axis in (0, 1))
    strength, angle = np.hypot(down, across), np.arctan2(down, across)
    straight, slanted = strength * np.cos(2 * angle), strength * np.sin(2 * angle)
    wanted = np.maximum([straight, -straight, slanted, -slanted], 0)
    np.testing.assert_allclose(
        cog.feature_maps(image)[5:, 1:-1, 1:-1], wanted[:, 1:-1, 1:-1], atol=1e-6
    )


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (lambda i, j: j == 11, "upright"),
        (lambda i, j: i == 8, "lying"),
        (lambda i, j: i + j == 19, "rising"),
        (lambda i, j: i - j == -3, "falling"),
    ],
)
def test_a_line_shows_in_the_map_of_its_direction(line, name):
    image = np.repeat(np.fromfunction(line, (H, W))[..., None], 3, axis=-1).astype(float)
    inner = cog.feature_maps(image)[5:, 4:-4, 4:-4].sum(axis=(1, 2))
    assert cog.FEATURES[5 + inner.argmax()] == name
    assert np.sort(inner)[-2] < inner.max() / 2


@pytest.mark.parametrize("sigma", [0.4, 2.0, 12.0])
def test_blur_is_scipys_gaussian_renormalised_at_the_rim(rng, sigma):
    maps = rng.normal(size=(F, H, W))

    def filtered(array):
        return ndimage.gaussian_filter(array, sigma, mode="constant", truncate=80 / sigma)

    for one, ours in zip(maps, cog.blur(maps, sigma), strict=True):
        close(ours, filtered(one) / filtered(np.ones_like(one)))


def test_contrast_is_the_same_for_the_negative(rng):
    maps = rng.random((F, H, W))
    contrast = cog.centre_surround(maps, 1.0, 4.0)
    close(contrast, cog.centre_surround(1 - maps, 1.0, 4.0))
    close(contrast, np.abs(cog.blur(maps, 1.0) - cog.blur(maps, 4.0)))
    close(cog.centre_surround(np.full((H, W), 0.7), 2.0, 12.0), np.zeros((H, W)))


def test_promote_finds_scipys_peaks(rng):
    maps = rng.random((F, H, W))
    for one, ours in zip(maps, cog.promote(maps), strict=True):
        highest_around = ndimage.maximum_filter(one, footprint=EIGHT)
        peaks = one[1:-1, 1:-1][(one > highest_around)[1:-1, 1:-1]]
        others = np.sort(peaks)[:-1]
        close(ours, one * (one.max() - others.mean()) ** 2)


@pytest.mark.parametrize(("peaks", "kept"), [(0, 0), (1, 1), (2, 0), (6, 0)])
def test_promote_by_the_number_of_equal_peaks(peaks, kept):
    one = np.zeros((9, 20))
    one[4, 3 * np.arange(peaks) + 1] = 1
    assert cog.promote(one).max() == kept


# ------------------------------------------------------------------ winner-take-all


def visits_by_hand(scores, count, radius):
    open_places = {(r, c): scores[r, c] for r in range(len(scores)) for c in range(len(scores[0]))}
    for _ in range(count):
        best = max(open_places, key=open_places.get)
        yield best
        open_places = {
            p: s for p, s in open_places.items() if np.hypot(*np.subtract(p, best)) > radius
        }


@settings(max_examples=60, deadline=None)
@given(
    scores=arrays.arrays(float, (7, 11), elements=st.floats(-9, 9)),
    radius=st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]),
)
def test_fixations_are_those_of_a_dictionary(scores, radius):
    before = scores.copy()
    found = cog.fixations(scores, 3, radius)
    np.testing.assert_array_equal(found, list(visits_by_hand(scores, 3, radius)))
    np.testing.assert_array_equal(scores, before)


def test_a_place_as_low_as_can_be_is_still_better_than_a_closed_one():
    scores = np.full((1, 3), -1e300)
    np.testing.assert_array_equal(cog.fixations(scores, 3, 0.5), [[0, 0], [0, 1], [0, 2]])


def test_scanpath_without_and_with_a_query(rng):
    maps = rng.random((F, H, W))
    contrast = cog.centre_surround(maps, 1.0, 4.0)
    scores, places = cog.scanpath(maps, 4, 3.0, centre=1.0, surround=4.0)
    close(scores, cog.promote(contrast).sum(0))
    np.testing.assert_array_equal(places, list(visits_by_hand(scores, 4, 3.0)))
    query = rng.normal(size=F)
    scores, places = cog.scanpath(maps, 4, 3.0, query, 1.0, 4.0)
    close(scores, np.einsum("f,fij->ij", query, contrast))
    np.testing.assert_array_equal(places, list(visits_by_hand(scores, 4, 3.0)))


# ------------------------------------------------------------------ pooling


@pytest.mark.parametrize("beta", [-1000, -1.5, 0, 0.1, 1, 10, 1000])
@pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4), (3, 2, 1, 4), (7, 1)])
def test_attention_pool_is_torchs(rng, beta, shape):
    x = rng.normal(size=shape)
    pooled, weights = cog.attention_pool(x, beta)
    oracle = torch.softmax(beta * torch.tensor(x), dim=-2)
    close(weights, oracle)
    close(pooled, (oracle * torch.tensor(x)).sum(-2))


def test_the_limits_are_the_poolings_of_torch(rng):
    x = torch.tensor(rng.normal(size=(6, 4)))
    close(cog.attention_pool(x, 0)[0], x.mean(0))
    close(cog.attention_pool(x, 1e6)[0], x.amax(0))
    close(cog.attention_pool(x, -1e6)[0], x.amin(0))


def test_at_a_large_beta_the_gradient_reaches_the_winners_only(rng):
    x = torch.tensor(rng.normal(size=(6, 4)), requires_grad=True)
    (gradient,) = torch.autograd.grad(cog.attention_pool(x, 1000.0)[0].sum(), x)
    (oracle,) = torch.autograd.grad(x.amax(0).sum(), x)
    close(gradient, oracle)
    (gradient,) = torch.autograd.grad(cog.attention_pool(x, 1.0)[0].sum(), x)
    assert (gradient != 0).all()


def test_one_softmax_is_not_a_gate(rng):
    """The derivative of the pooled value may be negative; a sigmoid gate's own weight may not."""
    x = torch.tensor([[0.0], [4.0]], requires_grad=True, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(cog.attention_pool(x, 1.0)[0].sum(), x)
    assert gradient.min() < 0


# ------------------------------------------------------------------ the exercise


def test_what_the_exercise_gives_is_what_the_module_has(rng):
    given = {"np": np}
    exec(scanpath.given, given)
    maps = rng.normal(size=(F, H, W))
    for sigma in (0.7, 3.0):
        close(given["blur"](maps, sigma), cog.blur(maps, sigma))
    maps = np.stack([*np.abs(maps), np.zeros((H, W))])
    close(given["promote"](maps), cog.promote(maps))


# ------------------------------------------------------------------ every function


CALLS = {
    "feature_maps": lambda x: cog.feature_maps(x(H, W, 3)),
    "blur": lambda x: cog.blur(x(2, F, H, W), 1.5),
    "centre_surround": lambda x: cog.centre_surround(x(F, H, W), 1, 4),
    "promote": lambda x: cog.promote(x(F, H, W)),
    "fixations": lambda x: cog.fixations(x(H, W), 3, 2.0),
    "scanpath": lambda x: cog.scanpath(x(F, H, W), 3, 2.0, x(F), 1.0, 3.0)[0],
    "attention_pool": lambda x: cog.attention_pool(x(H, F), 2.0)[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_numpy_and_torch_agree_and_leave_their_arguments(name):
    made = {"numpy": [], "torch": []}

    def drawer(kind):
        rng = np.random.default_rng(1)

        def draw(*shape):
            array = rng.random(shape[::-1]).T  # not contiguous
            made[kind].append((array, array.copy()))
            return array if kind == "numpy" else torch.from_numpy(array)

        return draw

    ours = {kind: CALLS[name](drawer(kind)) for kind in made}
    assert isinstance(ours["torch"], torch.Tensor)
    close(ours["torch"], ours["numpy"])
    for array, before in made["numpy"] + made["torch"]:
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"fixations"}))
def test_gradients_are_finite(name):
    leaves = []

    def draw(*shape):
        leaves.append(torch.full(shape, 0.5, dtype=torch.float64, requires_grad=True))
        return leaves[-1]

    CALLS[name](draw).sum().backward()
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves)


ONE = np.ones((H, W))
WRONG = [
    (lambda: cog.feature_maps(np.ones((H, W, 4))), r"image has shape.*red, green and blue"),
    (lambda: cog.feature_maps(255 * np.ones((H, W, 3))), "image runs from 255 to 255.*0 to 1"),
    (lambda: cog.feature_maps(np.ones((2, W, 3))), "image has 2 rows.*at least 3"),
    (lambda: cog.blur(ONE, 0), "sigma is 0.*greater than 0"),
    (lambda: cog.centre_surround(ONE, 3, 2), "surround is 2 and centre is 3.*larger"),
    (lambda: cog.promote(np.ones((4, 2))), "maps has 4 rows and 2 columns.*at least 3"),
    (lambda: cog.promote(np.full((4, 5), np.nan)), "maps holds NaN"),
    (lambda: cog.fixations(ONE, 0, 1), "count is 0.*1 or more"),
    (lambda: cog.fixations(ONE, 2.0, 1), "count is 2.0.*whole number"),
    (lambda: cog.fixations(ONE, 80, 1), "count is 80.*up to 5 of the 17 x 23.*at most 79"),
    (lambda: cog.fixations(ONE, 1, -1), "radius is -1"),
    (lambda: cog.scanpath(np.ones((F, H, W)), 1, 1, np.ones(3)), "query has shape.*F = 3"),
    (lambda: cog.attention_pool(ONE, np.inf), "beta is inf.*finite"),
    (lambda: cog.attention_pool(ONE, "large"), "beta is 'large'.*one number"),
    (lambda: data.search_display(10, "feature", None), "n is 10.*16"),
    (lambda: data.search_display(9, "both", None), "kind is 'both'.*'conjunction'"),
    (lambda: data.photo("cat"), "name is 'cat'.*chelsea"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_as_many_visits_as_are_promised_never_run_out(rng):
    for _ in range(20):
        places = cog.fixations(rng.random((H, W)), 79, 1)
        assert len({tuple(place) for place in places}) == 79


# ------------------------------------------------------------------ the data


@pytest.mark.parametrize("n", [4, 9, 16, 25, 36])
@pytest.mark.parametrize("kind", ["feature", "conjunction"])
def test_a_display_holds_one_target_and_no_bar_touches_another(n, kind):
    for seed in range(20):
        bars = data.search_display(n, kind, np.random.default_rng(seed))
        assert bars.shape == (n, 4)
        np.testing.assert_array_equal(
            bars, data.search_display(n, kind, np.random.default_rng(seed))
        )
        looks = [tuple(look) for look in bars[:, 2:]]
        assert looks[0] == (0, 0)
        assert set(looks[1:]) == ({(0, 1), (1, 1)} if kind == "feature" else {(1, 0), (0, 1)})
        assert abs(looks.count((0, 1)) - (n - 1) / 2) <= 0.5
        image = data.drawn(bars)
        assert image.shape == (data.SIDE, data.SIDE, 3)
        painted = (image != data.PAPER).any(-1)
        _, pieces = ndimage.label(painted, np.ones((3, 3)))
        assert pieces == n
        assert painted.sum() == n * 33


def test_the_target_may_stand_anywhere():
    targets = [data.search_display(9, "feature", np.random.default_rng(s))[0] for s in range(60)]
    assert len({(row // 43, column // 43) for row, column, *_ in targets}) == 9


@pytest.mark.parametrize("name", data.PHOTOS)
def test_photographs_come_without_a_network(name):
    image = data.photo(name)
    assert image.ndim == 3
    assert image.shape[2] == 3
    assert 100 <= image.shape[0] < 110
    assert 0 <= image.min() < image.max() <= 1
    assert image.std() > 0.05

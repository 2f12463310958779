"""The figures of the chapter on applications."""

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnkit.plots import INK, KEY, LINE, MUTED, QUERY, VALUE, WIDTH, pixels, weight_map

WORDS = {
    "where": "where is the {}?",
    "missing": "{}: not there",
    "band": "band",
    "frame": "frame",
    "letter": "letter",
    "sound": "the sound",
    "content": "weights by content",
    "content and place": "weights by content and place",
    "class": "class token",
    "patches": "patches",
    "image": "image",
    "shuffled": "median change of the answer when the weights are shuffled",
    "texts": "share of texts",
    "weight": "weight",
    "contribution": "share of the read",
    "row": "last layer",
    "rollout": "rollout",
    "digit": "digit",
    "erased": "patches erased",
    "right": "share answered right",
}
STYLES = [("-", INK), ("--", KEY), (":", VALUE), ("-.", QUERY)]


def found(scenes):
    """Scenes with the weight of each cell; ``scenes`` (asked, cells, weights, cell or None)."""
    figure = Figure((WIDTH, 2.3), layout="constrained")
    panels = figure.subplots(1, len(scenes))
    for axes, (asked, cells, weights, cell) in zip(panels, scenes, strict=True):
        side = int(len(cells) ** 0.5)
        step = 13
        axes.set(xlim=(-2, step * side - 2), ylim=(step * side - 1, -2), aspect="equal")
        axes.set_title(WORDS["missing" if cell is None else "where"].format(asked))
        axes.axis("off")
        for n, (picture, weight) in enumerate(zip(cells, weights, strict=True)):
            y, x = step * (n // side), step * (n % side)
            pixels(axes, picture, x, y)
            style = {"edgecolor": LINE, "linewidth": 0.6}
            if weight >= 0.01:
                style = {"edgecolor": INK, "linewidth": 0.6 + 3 * weight}
            axes.add_patch(Rectangle((x - 1.2, y - 1.2), 10.4, 10.4, fill=False, **style))
            if n == cell:
                axes.plot(x + 9.2, y - 1.2, "D", color=VALUE, markersize=5)
    return figure


def heard(sound, word, maps):
    """A word's sound, and for each of its letters the weights over the frames, in several ways."""
    figure = Figure((WIDTH, 5.6), layout="constrained")
    top, *panels = figure.subplots(1 + len(maps), 1, height_ratios=[1.5] + [1] * len(maps))
    frames, bands = sound.shape
    pixels(top, sound.T[::-1], -0.5, 0)
    top.set(xlim=(-0.5, frames - 0.5), ylim=(bands, 0), title=WORDS["sound"])
    top.set(ylabel=WORDS["band"], xticks=[], yticks=[])
    for axes, (name, weights) in zip(panels, maps.items(), strict=True):
        weight_map(axes, weights, [""] * frames, list(word))
        axes.set(title=WORDS[name], ylabel=WORDS["letter"], aspect="auto", xticks=[])
    panels[-1].set_xlabel(WORDS["frame"])
    return figure


def sequence(image, side):
    """A picture, its patches with their numbers, and the row that a transformer reads."""
    figure = Figure((WIDTH, 2.1), layout="constrained")
    axes = figure.add_subplot(aspect="equal")
    axes.axis("off")
    pixels(axes, image, 0, 0)
    axes.text(4, -0.8, WORDS["image"], ha="center")
    axes.add_patch(Rectangle((0, 0), 8, 8, fill=False, edgecolor=LINE, linewidth=0.8))
    across = len(image) // side
    for n in range(across**2):
        i, j = divmod(n, across)
        patch = image[i * side : (i + 1) * side, j * side : (j + 1) * side]
        x, y = 12.5 + 4.2 * j, 3.2 * i - 1.5
        pixels(axes, patch, x, y)
        axes.add_patch(Rectangle((x, y), side, side, fill=False, edgecolor=LINE, linewidth=0.8))
        axes.text(x - 0.25, y + side / 2, n + 1, ha="right", va="center", color=KEY)
    axes.text(19.8, -2.3, WORDS["patches"], ha="center")
    axes.add_patch(Rectangle((31.5, 3.2), side, side, fill=False, edgecolor=QUERY, linewidth=1.6))
    axes.text(31.25, 3.2 + side / 2, 0, ha="right", va="center", color=QUERY)
    axes.text(32.5, 2.4, WORDS["class"], ha="center", color=QUERY)
    axes.set(xlim=(-0.3, 36.5), ylim=(11, -3.8))
    return figure


def looks(words, cue, rows):
    """The weights of several models over one text; ``rows`` {name: weights}, cues are marked."""
    figure = Figure((WIDTH, 1.5 + 0.3 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    weight_map(axes, list(rows.values()), words, list(rows))
    axes.set_aspect("auto")
    axes.tick_params(axis="x", rotation=90)
    for n in np.flatnonzero(cue):
        axes.get_xticklabels()[n].set(color=VALUE, fontweight="bold")
    axes.set_xticks(np.arange(len(words) - 1) + 0.5, minor=True)
    axes.grid(which="minor", axis="x", color=LINE, linewidth=0.4)
    axes.tick_params(which="minor", length=0)
    return figure


def changes(found):
    """How large a change is, against the share of texts with at most that; {name: changes}."""
    figure = Figure((WIDTH, 2.6), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["shuffled"], ylabel=WORDS["texts"])
    for (name, change), (style, colour) in zip(found.items(), STYLES, strict=False):
        share = np.arange(1, len(change) + 1) / len(change)
        axes.plot(np.sort(change), share, style, color=colour, label=name)
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(loc="lower right")
    return figure


def pieces(words, weights, shares):
    """For each word its weight, and the share of the read that it makes."""
    figure = Figure((WIDTH * 0.8, 2.2), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(words))
    axes.bar(places - 0.2, weights, 0.36, color=to_rgba(INK, 0.35), label=WORDS["weight"])
    axes.bar(
        places + 0.2,
        shares,
        0.36,
        facecolor="none",
        edgecolor=VALUE,
        hatch="///",
        label=WORDS["contribution"],
    )
    axes.set_xticks(places, words)
    axes.set_ylim(0, 1)
    axes.tick_params(length=0)
    axes.legend()
    return figure


def maps(images, found):
    """Digits, and below each what several maps say of their patches; {name: (n, side, side)}."""
    figure = Figure((WIDTH, 1.25 * (1 + len(found))), layout="constrained")
    panels = figure.subplots(1 + len(found), len(images))
    for n, image in enumerate(images):
        axes = panels[0, n]
        pixels(axes, image, 0, 0)
        axes.set(xlim=(-0.5, 8.5), ylim=(8.5, -0.5), aspect="equal", xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color=LINE)
        for row, table in enumerate(found.values(), start=1):
            axes = panels[row, n]
            side = len(table[n])
            for (i, j), weight in np.ndenumerate(table[n] / table[n].max()):
                corner = (j - 0.5, i - 0.5)
                axes.add_patch(Rectangle(corner, 1, 1, color=to_rgba(INK, weight), linewidth=0))
            axes.set(xlim=(-0.6, side - 0.4), ylim=(side - 0.4, -0.6), aspect="equal")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color=LINE)
    for axes, name in zip(panels[:, 0], ["digit", *found], strict=True):
        axes.set_ylabel(WORDS[name])
    return figure


def erasing(counts, curves):
    """What is still right when so many patches are gone, chosen in several ways; {name: shares}."""
    figure = Figure((WIDTH, 2.6), layout="constrained")
    axes = figure.add_subplot(xlabel=WORDS["erased"], ylabel=WORDS["right"])
    for (name, shares), (style, colour), marker in zip(
        curves.items(), STYLES, "osD^", strict=False
    ):
        axes.plot(counts, shares, style, marker=marker, color=colour, markersize=5, label=name)
    axes.set(ylim=(0, 1.02))
    axes.spines["bottom"].set_color(MUTED)
    axes.legend()
    return figure

"""The figures of the chapter on pointer networks."""

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attnkit.plots import (
    DIAMOND,
    INK,
    KEY,
    LINE,
    MUTED,
    OUTLINE,
    ROUND,
    SQUARE,
    VALUE,
    WIDTH,
    boxed,
    weight_map,
)

WORDS = {
    "reads": "attention reads: an average",
    "points": "a pointer points: a place",
    "gate": "gate",
    "item": "item {}",
    "length": "how many numbers",
    "sorted": "sorted without a mistake",
    "repeats": "pointed twice somewhere",
    "trained": "trained on",
    "step": "step",
    "needed": "where to point",
}
STYLES = [("-", ROUND), ("--", SQUARE), (":", DIAMOND)]


def read_or_point(numbers, weights):
    """The same weights twice: lines that meet in one average, and the thickest of them alone."""
    figure = Figure((WIDTH, 2.5), layout="constrained")
    panels = figure.subplots(1, 2)
    middle = (len(numbers) - 1) / 2
    peak = max(range(len(numbers)), key=weights.__getitem__)
    for axes, name in zip(panels, ("reads", "points"), strict=True):
        axes.set_title(WORDS[name])
        axes.set(xlim=(-0.6, len(numbers) - 0.4), ylim=(-0.75, 1.5))
        axes.axis("off")
        for n, (number, weight) in enumerate(zip(numbers, weights, strict=True)):
            drawn = name == "reads" or n == peak
            shade = to_rgba(INK, max(weight, 0.1) if drawn else 0.1)
            end = middle if name == "reads" else n
            axes.plot([n, end], [0.22, 1.0], color=shade, linewidth=0.6 + 5 * weight)
            boxed(axes, n, 0, f"{number:g}", KEY)
            axes.text(n, -0.5, f"{weight:.2f}", ha="center", color=MUTED)
    average = sum(number * weight for number, weight in zip(numbers, weights, strict=True))
    boxed(panels[0], middle, 1.2, f"{average:.1f}", VALUE)
    boxed(panels[1], peak, 1.2, WORDS["item"].format(peak + 1), VALUE)
    return figure


def by_length(lengths, sorted_right, repeats, trained):
    """Shares against the length, a panel for each; both are ``{model: shares}``.

    ``trained`` are the first and the last length of the training.
    """
    figure = Figure((WIDTH, 4.4), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    for axes, name, shares in zip(
        panels, ("sorted", "repeats"), (sorted_right, repeats), strict=True
    ):
        axes.set(title=WORDS[name], ylim=(-0.04, 1.06))
        axes.axvspan(*trained, color=LINE, alpha=0.45, linewidth=0)
        for (model, values), (line, marker) in zip(shares.items(), STYLES, strict=False):
            axes.plot(lengths, values, line, marker=marker, markersize=5, color=INK, label=model)
    panels[1].text(sum(trained) / 2, 0.5, WORDS["trained"], ha="center", color=MUTED)
    panels[1].set_xlabel(WORDS["length"])
    panels[1].set_xticks(lengths)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left")
    return figure


def pointing(maps, numbers, needed):
    """Weights of each step over the slots, ``{title: (M, S)}`` side by side; the gate is last.

    ``needed`` are the slots that should be pointed at, each marked in its step.
    """
    slots = [f"{number:g}" for number in numbers] + [WORDS["gate"]]
    figure = Figure((WIDTH, 3.0), layout="constrained")
    panels = figure.subplots(1, len(maps), squeeze=False)[0]
    # The gate is slot 0, but what it ends stands on its left.
    columns = [(slot - 1) % len(slots) for slot in needed]
    for axes, (title, weights) in zip(panels, maps.items(), strict=True):
        turned = [[*row[1:], row[0]] for row in weights]
        weight_map(axes, turned, slots, range(1, len(turned) + 1))
        axes.tick_params(axis="x", labelrotation=90)
        axes.scatter(columns, range(len(columns)), s=30, marker=DIAMOND, **OUTLINE)
        axes.set(title=title)
    panels[0].set_ylabel(WORDS["step"])
    handle = panels[0].scatter([], [], s=30, marker=DIAMOND, label=WORDS["needed"], **OUTLINE)
    figure.legend(handles=[handle], loc="outside lower left")
    return figure

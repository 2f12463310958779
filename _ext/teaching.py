"""What a teacher asks of the exercises: how long they take, and which mistakes the checks know."""

import inspect
import re

from exercise import identifier
from sources import Written

from attnkit.exercises import all_exercises, of_chapter

# Of a sentence of an exercise's; a star is one only where it stands at the edge of a word.
MARKUP = r"[\\_$<\[]|(?<=\w)\*(?=\w)"
READING = re.compile(r"^\| \{ref\}`([\w-]+)` \| .* \| (\d+) \| \d+ \|$", re.M)


def reading(landing):
    """The minutes that the landing page gives each chapter, by the chapter's label."""
    return {label: int(minutes) for label, minutes in READING.findall(landing)}


def literal(text):
    """A sentence of an exercise's in Markdown, in which code and emphasis are the only markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p[:1] == "`" else re.sub(MARKUP, r"\\\g<0>", p) for p in parts)


def link(exercise):
    page = f"../chapters/{exercise.chapter}.html#{identifier(exercise)}"
    return f'<a href="{page}">{exercise.number}</a>'


class OnExercises(Written):
    """Is written anew when an exercise or the landing page changes."""

    def run(self):
        for exercise in all_exercises():
            self.env.note_dependency(inspect.getsourcefile(exercise.prompt))
        self.landing = self.env.doc2path("index")
        self.env.note_dependency(self.landing)
        return super().run()

    def minutes(self):
        with open(self.landing, encoding="utf-8") as file:
            return reading(file.read())


class Workload(OnExercises):
    """``chapter | numbers of those it needs``: a table of minutes and points, and their sums."""

    def lines(self, rows):
        yield "| chapter | after | to read | exercises | to write | points | by hand |"
        yield "| --- | --- | ---: | --- | ---: | ---: | ---: |"
        minutes, sums = self.minutes(), [0, 0, 0, 0]
        for chapter, needs in rows:
            name = chapter.replace("-", "_")
            exercises = all_exercises([name])
            counts = [
                minutes[chapter],
                sum(exercise.minutes for exercise in exercises),
                sum(exercise.points for exercise in exercises),
                sum(item.points for item in of_chapter(name) if item not in exercises),
            ]
            sums = [a + b for a, b in zip(sums, counts, strict=True)]
            number = exercises[0].number.partition(".")[0]
            title = f"{number}: {{ref}}`{chapter}`"
            yield self.row(title, needs, ", ".join(map(link, exercises)), counts)
        yield self.row("all", "", str(len(all_exercises())), sums)

    def row(self, chapter, needs, exercises, counts):
        read, *others = map(str, counts)
        return f"| {' | '.join([chapter, needs, read, exercises, *others])} |"


class Plan(OnExercises):
    """``what it is about | chapters | exercises``, a meeting each: what to read and to write."""

    def lines(self, rows):
        yield "| meeting | about | before | to read | after | to write | points |"
        yield "| ---: | --- | --- | ---: | --- | ---: | ---: |"
        minutes = self.minutes()
        by_number = {exercise.number: exercise for exercise in all_exercises()}
        for number, (about, chapters, exercises) in enumerate(rows, start=1):
            read = chapters.split(", ")
            written = [by_number[number] for number in exercises.split(", ")]
            cells = (
                number,
                about,
                ", ".join(f"{{ref}}`{chapter}`" for chapter in read),
                sum(minutes[chapter] for chapter in read),
                ", ".join(map(link, written)),
                sum(exercise.minutes for exercise in written),
                sum(exercise.points for exercise in written),
            )
            yield f"| {' | '.join(map(str, cells))} |"


class Mistakes(OnExercises):
    """A chapter's mistakes that the checks know by name, with the hint they give, by exercise."""

    required_arguments = 1

    def lines(self, rows):
        for exercise in all_exercises(self.arguments):
            label, heading = exercise.section
            again = f"To reread: {{ref}}`{heading} <{label}>`."
            yield f"**Exercise {link(exercise)}: {exercise.title}.** {again}"
            for mistake in exercise.misconceptions:
                yield from ("", literal(mistake.name), f": {literal(mistake.hint)}")
            yield ""


def setup(app):
    """Register the directives with Sphinx."""
    app.add_directive("workload", Workload)
    app.add_directive("plan", Plan)
    app.add_directive("mistakes", Mistakes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

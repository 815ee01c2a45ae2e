"""`mtd`: the course, where you left it. Saves of your file are noticed, and checked.

n  the next lesson       h  a hint, and one more     t  the text again         c  check again
l  all lessons: type a number and press enter        g  guess first            o  our solution
p  the picture of your code                          s  step through it        x  begin anew
space, arrows  scroll    q  leave                    ?  this
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from mtd.cli import player
from mtd.cli.keyboard import Closed, Keyboard
from mtd.cli.lessons import hint, listing, predict, report, reset, solution, text
from mtd.cli.lessons.desk import CHECK, PICTURE, STEP, DeskResult, LessonDesk
from mtd.cli.lessons.screen import Draw, Screen
from mtd.cli.page import Page, marked
from mtd.course import progress as progresses
from mtd.course.lesson import Lesson, LessonError, find
from mtd.course.workspace import Workspace

TICK = 0.15  # seconds between two looks at the file
KEYS = "n next|h hint|g guess|l list|p picture|s step|q quit|? help|x reset|t text"  # by importance
MEANINGS = {
    "n": "the next lesson",
    "h": "a hint, and one more",
    "l": "all lessons; a number and enter go to one",
    "p": "the picture of your code",
    "s": "step through it, forward and back",
    "t": "back to the lesson's text",
    "g": "guess first what will be measured",
    "c": "check again; saving does it too",
    "o": "our solution, once yours has passed",
    "x": "begin this lesson anew; a copy is kept",
    "space, arrows": "scroll",
    "Ctrl-C": "stop a check, and see where the code was",
    "q": "leave",
}
TURNING = "-\\|/"
SCROLLS = {"down": 1, "up": -1, "j": 1, "k": -1, "home": -(10**6), "end": 10**6}


class WatchScreen:
    """The screen of `mtd`: its text, the check under way, and the action of each key."""

    def __init__(self, workspace: Workspace, screen: Screen, keyboard: Keyboard) -> None:
        self.workspace, self.screen, self.keyboard = workspace, screen, keyboard
        self.said = Text()  # beneath the text, until the next key
        self.pending = ""  # the key that has to be pressed once more
        self.number = ""  # of a lesson, being typed
        self.turns = 0
        self.view = ""
        self.draw: Draw = lambda page: None
        self.desk = LessonDesk(workspace, workspace.present(workspace.progress()))
        self.enter(self.lesson)

    @property
    def lesson(self) -> Lesson:
        return self.desk.lesson

    def __repr__(self) -> str:
        return f"<Watch of {self.lesson}, shows {self.view}, {self.desk!r}>"

    # ---------------------------------------------------------------------------- what is shown

    def show(self, view: str, draw: Draw) -> None:
        self.view, self.draw = view, draw
        self.screen.top = 0
        self.screen.compose(draw)

    def under_title(self, draw: Draw) -> Draw:
        lesson = self.lesson

        def all_of_it(page: Page) -> None:
            report.heading(page, lesson)
            page.say()
            draw(page)

        return all_of_it

    def say(self, *words: str | tuple[str, str]) -> None:
        self.said = marked(*words)

    def state(self) -> Text:
        """The line above the keys."""
        if self.number:
            return marked("go to lesson ", (self.number, "bold"), "  (enter)")
        doing = self.desk.doing
        if doing and not self.pending:
            self.turns += 1
            return marked((f"{TURNING[self.turns % 4]} {doing}", "cyan"), "  Ctrl-C stops it")
        if self.said:
            return self.said
        if self._is_passed():
            on, again = ("n", "bold"), ("c", "bold")
            return marked(("passed", "green"), "  ", on, " goes on, ", again, " checks again")
        name = self.workspace.file(self.lesson).relative_to(self.workspace.folder)
        return marked("save ", (str(name), "bold"), " and it is checked")

    def _is_passed(self) -> bool:
        """Whether the file has passed as it is now."""
        with suppress(LessonError):
            return self.workspace.is_current(self.lesson, self.workspace.progress())
        return False

    def keys(self) -> Text:
        width = self.screen.size()[0]
        words = KEYS.split("|")
        while len("  ".join(words)) >= width and len(words) > 2:
            words.pop()
        line = Text()
        for word in words:
            key, _, what = word.partition(" ")
            line.append("  " if line else "").append(key, "bold").append(f" {what}", "dim")
        return line

    def paint(self) -> None:
        self.screen.paint(self.state(), self.keys())

    # ------------------------------------------------------------------------------ a lesson

    def enter(self, lesson: Lesson) -> None:
        self.desk.stop()
        self.desk, self.said = LessonDesk(self.workspace, lesson), Text()
        with progresses.changing(self.workspace.folder) as progress:
            progress.present = lesson.number
        self.read()
        with suppress(LessonError):
            if not self._is_passed() and self.workspace.is_begun(lesson):
                self.desk.check()

    def read(self) -> None:
        lesson, workspace = self.lesson, self.workspace

        def draw(page: Page) -> None:
            text.show(page, lesson)
            page.say()
            if lesson.questions and not workspace.progress().has_guessed(lesson.number):
                page.tell("Guess first: press ", ("g", "bold"))
            file = (str(workspace.file(lesson)), "bold")
            page.tell("Your part is in ", file, ": complete it, save it, and it is checked here.")

        self.show("text", draw)

    # ----------------------------------------------------------------------------- what was found

    def tick(self) -> None:
        """Show what has been found out meanwhile."""
        self.take(self.desk.tick())
        if self.desk.trouble:
            self.say((self.desk.trouble, "yellow"))
            self.desk.trouble = ""

    def take(self, found: DeskResult | None) -> None:
        if found is None:
            return
        self.said = Text()
        if found.purpose == CHECK:
            self._judged(found)
        else:
            self._drawn(found)

    def _judged(self, found: DeskResult) -> None:
        exam, verdict, workspace = found.exam, found.exam.verdict, self.workspace
        if verdict is None:
            self.say((f"the check did not begin: {exam.printed.splitlines()[-1:]}", "red"))
            return
        progress, gone = workspace.progress(), self.desk.gone

        def draw(page: Page) -> None:
            for earlier in gone:
                page.say(f"({report.gone(workspace, earlier)})", "dim")
            report.verdict(page, workspace, exam, progress)

        self.show("verdict", self.under_title(draw))
        if verdict.lamps:
            workspace.explained(exam.lesson)
        if verdict.is_passed:
            self.say(("passed", "green"), "  ", ("n", "bold"), " goes on")

    def _drawn(self, found: DeskResult) -> None:
        exam = found.exam
        if exam.undrawn:
            self.say((f"it cannot be drawn: {exam.undrawn.splitlines()[0]}", "yellow"))
        elif found.purpose == PICTURE:
            picture = self.under_title(lambda page: report.picture(page, exam))
            self.show("picture", picture)
        elif exam.scene is None:
            self.say("this picture has no steps")
        else:
            player.play(replace(exam.scene, title=str(exam.lesson)), console=self.screen.console)

    # ---------------------------------------------------------------------------------- keys

    def press(self, key: str) -> bool:
        """Do what a key says; False when it says to leave."""
        pending, self.pending = self.pending, ""
        if key == "q":
            return False
        if key == "escape":  # it may also be the beginning of an arrow that comes slowly
            self.number, self.said = "", Text()
            return True
        if key.isdigit() or (self.number and key in ("enter", "back", ".")):
            self._type(key)
            return True
        self.number = ""
        self.said = Text()
        page = max(self.screen.room - 1, 1)
        scrolls = SCROLLS | {"page down": page, "page up": -page, "b": -page}
        if key in scrolls:
            self.screen.scroll(scrolls[key])
        elif pending == "x":
            self._reset(key == "y")
        else:
            with_names: dict[str, Callable[[], None]] = {
                "n": lambda: self._next(pending == "n"), "h": self._hint, "l": self._list, "p": lambda: self.desk.draw(PICTURE), "s": lambda: self.desk.draw(STEP),
                "x": self._may_reset, "t": self.read, "c": self.desk.check, "g": self._guess, "o": self._solution, "?": self._help,
            }  # fmt: skip
            if key in with_names:
                with_names[key]()
            elif key:
                self.say("? tells the keys")
        return True

    def _type(self, key: str) -> None:
        """The number of a lesson."""
        if key == "enter":
            wanted, self.number = self.number, ""
            try:
                found = find(wanted, self.workspace.room)
                self.enter(found)
                if found.moved(wanted):
                    self.say((found.moved(wanted), "yellow"))
            except LessonError as error:
                self.say((str(error), "yellow"))
        else:
            self.number = self.number[:-1] if key == "back" else (self.number + key)[-3:]

    def _next(self, again: bool) -> None:
        progress = self.workspace.progress()
        number = self.lesson.number
        is_done = self.workspace.is_current(self.lesson, progress) or number in progress.reference
        following = self.workspace.following(self.lesson)
        if following is None:
            more = f"lesson {number} has not passed; there is none after it"
            self.say("that was the last lesson" if is_done else more)
        elif is_done or again:
            self.enter(following)
        else:
            self.pending = "n"
            said = (f"lesson {number} has not passed. ", "yellow")
            all_the_same = " again goes on all the same; later lessons take ours"
            self.say(said, ("n", "bold"), all_the_same)

    def _hint(self) -> None:
        lesson = self.lesson
        count = hint.seen(self.workspace, lesson)
        if self.view == "hint" or not count:
            hint.more(self.workspace, lesson)
            count += 1
        size = self.workspace.progress().size_of(lesson.number)
        self.show("hint", self.under_title(lambda page: hint.show(page, lesson, count, size)))
        if count < len(lesson.hints):
            self.say(("h", "bold"), " says more")

    def _list(self) -> None:
        workspace = self.workspace

        def draw(page: Page) -> None:
            listing.show(page, workspace, workspace.progress())

        self.show("list", draw)
        marks = ("▶" in line or "> " in line[:2] for line in self.screen.lines)
        here = next((number for number, is_here in enumerate(marks) if is_here), 0)
        self.screen.scroll(here - self.screen.room // 2)
        self.say("type a number and press enter to go there")

    def _may_reset(self) -> None:
        self.pending = "x"
        question = (f"begin {self.lesson.file} anew? ", "yellow")
        self.say(question, ("y", "bold"), " does it, and keeps a copy; any other key does not")

    def _reset(self, is_meant: bool) -> None:
        if not is_meant:
            self.say("nothing was changed")
            return
        self.desk.stop()
        try:
            said = reset.done(self.workspace, self.lesson)
        except LessonError as error:
            said = str(error)
        self.desk.forget()
        self.read()
        self.say(said)

    def _solution(self) -> None:
        lesson = self.lesson
        try:
            solution.refuse_before_passing(self.workspace, lesson)
        except LessonError:
            all_the_same = f": mtd solution {lesson.number} --give-up shows it all the same"
            self.say(("not passed yet", "yellow"), all_the_same)
            return
        self.show("solution", lambda page: solution.show(page, lesson))

    def _guess(self) -> None:
        """In an ordinary terminal, line by line."""
        with self.screen.aside(), self.keyboard.lines():
            page = Page()
            with suppress(KeyboardInterrupt, EOFError):
                page.console.clear()
                report.heading(page, self.lesson)
                page.say()
                try:
                    predict.ask(page, self.workspace, self.lesson, [])
                except LessonError as error:
                    page.say(str(error))
                page.say()
                input("enter goes back ")
        self.screen.compose(self.draw)

    def _help(self) -> None:
        def draw(page: Page) -> None:
            table = Table.grid(padding=(0, 2))
            for key, what in MEANINGS.items():
                table.add_row(Text(key, "bold"), what)
            page.say(table)

        self.show("help", draw)

    def interrupted(self) -> bool:
        """Ctrl-C: stops what is under way, and says where it was; else it means to leave."""
        is_busy = self.desk.exam is not None
        self.take(self.desk.interrupt())
        return is_busy


def watch(workspace: Workspace) -> int:
    """Until somebody leaves."""
    with Keyboard() as keyboard, Screen() as screen:
        screen.on_return = keyboard.enter
        here = WatchScreen(workspace, screen, keyboard)
        size = screen.size()
        is_on = True
        while is_on:
            try:
                here.paint()
                key = keyboard.read(TICK)
                is_on = not key or here.press(key)
                here.tick()
                if screen.size() != size:
                    size = screen.size()
                    screen.compose(here.draw)
            except KeyboardInterrupt:
                is_on = here.interrupted()
            except Closed:
                is_on = False
            except BaseException:
                here.desk.stop()
                raise
        here.desk.stop()
    return 0

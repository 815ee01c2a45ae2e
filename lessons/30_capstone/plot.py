# %% The same messages at other times: what three worlds did when
import tempfile
from pathlib import Path

from IPython.display import SVG, display

from mtd.course import lesson, timelines, worlds

with tempfile.TemporaryDirectory() as folder:
    script = lesson.find(4).folder / "train.py"
    setting = worlds.TrainingSetup(script, ("--steps", "24"), 4, Path(folder))
    found = worlds.live(setting, ["alone", "simulator", "faults"])
display(SVG(timelines.draw(found)))

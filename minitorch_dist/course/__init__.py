"""The course: lessons with blanks, and the checks that judge what is written into them.

    source      one marked file: from it come the skeleton, the solution and the notebook
    lesson      what stands in a lesson's folder
    path        which of the lessons' modules a name means: yours, or ours
    lamps       how a check says what it asks for
    checking    a lesson's check against a file: the verdict
    lab         what checks measure with
    post        letters between ranks; strikes loses, doubles and delays them, envelopes draws what became of them

A lesson's check imports `lamp` and `Cost` from here.
"""

from minitorch_dist.course.lamps import Cost as Cost, Skipped as Skipped, lamp as lamp

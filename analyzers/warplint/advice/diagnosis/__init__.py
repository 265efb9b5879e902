"""What the step waits for, how much, and which line: a sentence for the run and one for each phase.

``diagnose`` asks every cause there is (the modules of ``causes``) what it claims of a capture.
docs/diagnosis.md says to users what is done here.
"""

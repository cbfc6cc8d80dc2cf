# SPDX-License-Identifier: MIT
"""`seep help` as the tests of what is made from the same tables read it."""

import re
import subprocess

import harness


def ask(*words):
    done = subprocess.run([harness.SEEP, *words], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    return done.stdout


def one_line(text):
    """However it was folded. A space at which it must not be folded is one too."""
    return " ".join(text.split())


def commands():
    """{name: summary}"""
    return dict(re.findall(r"^  (\S+) +(.*)", ask("help"), re.M))


class Help:
    """What `seep help COMMAND` says, in its parts."""

    def __init__(self, command):
        head, self.options_text = ask("help", command).split("\noptions:\n")
        usage, self.description = head.split("\n\n", 1)
        self.usage = usage.removeprefix("usage: ")

    def options(self):
        """{"--name" or "-n": summary}"""
        found = {}
        for part in re.split(r"^  (?=-|    --)", self.options_text, flags=re.M)[1:]:
            syntax, summary = re.match(r"\s*(.*?\S)\s{2,}(.*)", part, re.S).groups()
            for word in re.findall(r"(?:^|, )(--?[a-z-]+)", syntax):
                found[word] = one_line(summary)
        return found

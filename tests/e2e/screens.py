# SPDX-License-Identifier: MIT
"""A program on the screen of a terminal emulator (tmux, on a server of its own): keys go in, what
stands on the screen comes out.
"""

import itertools
import os
import subprocess

from harness import need
from running import wait_until


class Screen:
    """A terminal of so many columns and rows with one command in it."""

    made = itertools.count()

    def __init__(self, folder, columns, rows, command, env):
        # A server that is about to end still has its socket.
        socket = folder / f"tmux-{next(self.made)}"
        self.words = [need("tmux"), "-S", str(socket), "-f", os.devnull]
        self.columns, self.rows = columns, rows
        self.ended = folder / f"{socket.name}.status"
        # A shell stays when the command ends: with its pane's last process tmux can drop what it
        # has not read yet.
        self.call("new-session", "-d", "-x", str(columns), "-y", str(rows), "sleep 600")
        settings = [f"{name}={value}" for name, value in env.items()]
        self.call("respawn-pane", "-k", "sh", "-c",
                  'trap : INT; ended=$1; shift; env "$@"; echo $? >"$ended"; exec sleep 600', "sh",
                  str(self.ended), *settings, *[os.fspath(w) for w in command])

    def call(self, *words):
        done = subprocess.run([*self.words, *words], stdout=subprocess.PIPE, check=True, timeout=60)
        return done.stdout.decode()

    def ask(self, what):
        return self.call("display-message", "-p", "#{" + what + "}").strip()

    @property
    def pid(self):
        """Of the command."""
        shell = self.ask("pane_pid")
        with open(f"/proc/{shell}/task/{shell}/children") as children:
            return int(children.read())

    def keys(self, *keys):
        self.call("send-keys", *keys)

    def text(self, *options):
        return self.call("capture-pane", "-p", *options)

    def wait(self, *texts, gone=()):
        """Until all of these stand on the screen, and none of those; gives the screen."""
        def there():
            now = self.text()
            return all(t in now for t in texts) and not any(t in now for t in gone) and now
        return wait_until(there, lambda: f"{texts} on the screen:\n{self.text()}")

    def resize(self, columns, rows):
        self.call("resize-window", "-x", str(columns), "-y", str(rows))

    def status(self):
        """The command's exit status, once it has ended."""
        return int(wait_until(lambda: self.ended.exists() and self.ended.read_text().strip(),
                              "the end of the command"))

    def close(self):
        subprocess.run([*self.words, "kill-server"], check=False, timeout=60,
                       stderr=subprocess.DEVNULL)

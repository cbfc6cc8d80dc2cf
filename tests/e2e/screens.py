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
        # Kept when the command ends, so that what it left can be looked at.
        self.call("new-session", "-d", "-x", str(columns), "-y", str(rows), "sleep 600")
        self.call("set-option", "-g", "remain-on-exit", "on")
        settings = [f"{name}={value}" for name, value in env.items()]
        self.call("respawn-pane", "-k", "env", *settings, *[os.fspath(w) for w in command])

    def call(self, *words):
        done = subprocess.run([*self.words, *words], stdout=subprocess.PIPE, check=True, timeout=60)
        return done.stdout.decode()

    def ask(self, what):
        return self.call("display-message", "-p", "#{" + what + "}").strip()

    @property
    def pid(self):
        return int(self.ask("pane_pid"))

    def keys(self, *keys):
        self.call("send-keys", *keys)

    def text(self, *options):
        return self.call("capture-pane", "-p", *options)

    def wait(self, *texts, gone=()):
        """Until all of these stand on the screen, and none of those; gives the screen."""
        def there():
            now = self.text()
            return all(t in now for t in texts) and not any(t in now for t in gone) and now
        try:
            return wait_until(there, f"{texts} on the screen")
        except BaseException:
            print(self.text())
            raise

    def resize(self, columns, rows):
        self.call("resize-window", "-x", str(columns), "-y", str(rows))

    def status(self, unknown=0):
        """The command's exit status, once it has ended. Of what ends at once tmux may not learn it: `unknown`."""
        wait_until(lambda: self.ask("pane_dead") == "1", "the end of the command")
        return int(self.ask("pane_dead_status") or -int(self.ask("pane_dead_signal") or -unknown))

    def close(self):
        subprocess.run([*self.words, "kill-server"], check=False, timeout=60,
                       stderr=subprocess.DEVNULL)

# SPDX-License-Identifier: MIT
"""A program with windows, on a screen that nobody sees; its text is read from a picture."""

import os
import signal
import subprocess

from harness import need
from running import wait_until


class Window:
    """A command on a screen (Xvfb) and a session bus of its own."""

    def __init__(self, folder, *command):
        self.folder = folder
        read, write = os.pipe()
        self.screen = subprocess.Popen(
            [need("Xvfb"), "-displayfd", str(write), "-screen", "0", "1400x1000x24"],
            pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with open(read, encoding="ascii") as number:
            self.env = {**os.environ, "DISPLAY": f":{int(number.readline())}", "HOME": str(folder),
                        "XDG_RUNTIME_DIR": str(folder), "LANG": "C.UTF-8"}
        self.log = folder / "window.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([need("dbus-run-session"), "--", *map(str, command)],
                                            env=self.env, stdout=log, stderr=log,
                                            start_new_session=True)

    def text(self):
        """What a reader of print makes of the screen, enlarged to what it is used to."""
        assert self.process.poll() is None, self.log.read_text(errors="replace")
        picture = self.folder / "screen.png"
        subprocess.run([need("import"), "-window", "root", picture], env=self.env, check=True,
                       timeout=60)
        subprocess.run([need("convert"), picture, "-colorspace", "Gray", "-resize", "300%",
                        self.folder / "large.png"], check=True, timeout=60)
        return subprocess.run([need("tesseract"), self.folder / "large.png", "-", "--psm", "11"],
                              check=True, timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout.decode()

    def wait(self, *texts):
        """Until all of these stand on the screen; gives its text."""
        seen = []

        def there():
            seen[:] = [self.text()]
            return all(text in seen[0] for text in texts) and seen[0]

        try:
            return wait_until(there, f"{texts} on the screen")
        except BaseException:
            print(*seen)
            raise

    def close(self):
        # With the bus, which its starter would leave behind.
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()
        self.screen.terminate()
        self.screen.wait()

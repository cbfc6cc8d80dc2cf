# SPDX-License-Identifier: MIT
"""Symbols from debuginfod servers: only when asked for, in bounded time, and never believed."""

import ctypes.util
import http.server
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from harness import SEEP, check_truth, contexts_of, need, parse_truth, program
from test_symbol_files import build_id_of, own_frames, record_what_vanishes

NEED = pytest.mark.skipif(
    not ctypes.util.find_library("debuginfod"), reason="libdebuginfod1 is not installed"
)


class Server:
    """Serves what is in `files`, {(build_id, kind): path}, and keeps what was asked for."""

    def __init__(self):
        self.files, self.asked = {}, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                _, _, build_id, kind = (self.path.split("/") + [""] * 4)[:4]
                outer.asked.append((build_id, kind))
                path = outer.files.get((build_id, kind))
                if path is None:
                    self.send_error(404)
                    return
                data = path.read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server():
    served = Server()
    yield served
    served.close()


class Silent:
    """A port that takes connections and never says a word."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def connections(self):
        """How many were made; to be asked once, at the end."""
        self.listener.setblocking(False)
        made = []
        try:
            while True:
                made.append(self.listener.accept())
        except BlockingIOError:
            return len(made)


@pytest.fixture
def silent():
    port = Silent()
    yield port
    port.listener.close()


def environment(seep, url):
    return {
        "DEBUGINFOD_URLS": url,
        "DEBUGINFOD_CACHE_PATH": str(seep.directory / "cache"),
        "HOME": str(seep.directory),
        "TRUTH_FILE": str(seep.directory / "truth"),
        "no_proxy": "*",
    }


def stripped(seep):
    copy = seep.directory / "copy"
    subprocess.run([need("strip"), "-o", copy, program("mini_dlsym")], check=True)
    return copy


def take_apart(seep, server):
    """A stripped program whose debug file only the server has."""
    copy, debug = stripped(seep), seep.directory / "debug"
    source = program("mini_dlsym")
    subprocess.run([need("objcopy"), "--only-keep-debug", source, debug], check=True)
    server.files[build_id_of(copy), "debuginfo"] = debug
    return copy


def truth_of(seep):
    return parse_truth((seep.directory / "truth").read_text())


@NEED
def test_a_server_is_asked_when_wanted_and_its_answer_is_kept(seep, server):
    copy = take_apart(seep, server)
    env = environment(seep, server.url)
    recordings = seep.record([copy], ["--debuginfod"], env=env)
    check_truth(recordings.main(), truth_of(seep))
    assert (build_id_of(copy), "debuginfo") in server.asked
    assert all(f["line"] for f in own_frames(recordings.main(), copy) if f["function"] == "main")
    server.asked.clear()
    seep.run([copy], ["--debuginfod"], env=env)
    assert (build_id_of(copy), "debuginfo") not in server.asked


def test_nobody_is_asked_without_the_option(seep, server):
    copy = take_apart(seep, server)
    env = environment(seep, server.url)
    recordings = seep.record([copy], env=env)
    for words in (["report", recordings.path], ["report", "--symbols", seep.directory, recordings.path],
                  ["report", "--json", recordings.path], ["query", recordings.path, ".tables"]):
        assert seep.command(*words, env=env).status == 0
    assert server.asked == []
    assert not contexts_of(recordings.main(), "by_next")


@NEED
def test_a_report_fills_in_what_an_old_recording_lacks(seep, server):
    copy = take_apart(seep, server)
    env = environment(seep, server.url)
    _, recordings = seep.run([copy], env=env)
    done = seep.command("report", "--debuginfod", recordings.path, env=env)
    assert done.status == 0
    # The C library may have none.
    assert b"by_next" in done.stdout and not re.search(rb"No names.*\bcopy \(", done.stdout)


@NEED
def test_a_program_that_is_gone_is_asked_for_too(seep, server):
    copy = seep.directory / "copy"
    path = record_what_vanishes(seep, copy, f"rm '{copy}'")
    bare = seep.directory / "bare"
    subprocess.run([need("strip"), "--strip-debug", "-o", bare, program("mini_dlsym")], check=True)
    server.files[build_id_of(bare), "executable"] = bare
    done = seep.command("report", "--debuginfod", path, env=environment(seep, server.url))
    assert done.status == 0
    assert b"by_next" in done.stdout


@NEED
def test_a_file_of_another_build_is_not_believed(seep, server):
    copy = take_apart(seep, server)
    server.files[build_id_of(copy), "debuginfo"] = program("recursion")
    env = environment(seep, server.url)
    recordings = seep.record([copy], ["--debuginfod"], env=env)
    assert not any(f["function"] for f in own_frames(recordings.main(), copy))


@NEED
def test_a_server_that_is_not_there_is_said_and_changes_nothing(seep):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    result, recordings = seep.run(
        [stripped(seep)], ["--debuginfod"], env=environment(seep, url)
    )
    assert result.status == 0
    report = recordings.main()
    (unseen,) = [u for u in report["unseen"] if u["code"] == "debuginfod"]
    assert "the debuginfod server cannot be asked: " in unseen["detail"]


@NEED
def test_a_silent_server_is_waited_for_once(seep, server, silent):
    command = [need("sqlite3"), ":memory:", "select 1"]
    result, recordings = seep.run(command, ["--debuginfod"], env=environment(seep, server.url))
    assert result.status == 0 and len(set(server.asked)) > 1
    env = {
        **environment(seep, silent.url),
        "DEBUGINFOD_CACHE_PATH": str(seep.directory / "another"),
        "DEBUGINFOD_TIMEOUT": "1",
        "DEBUGINFOD_RETRY_LIMIT": "0",
    }
    recordings = seep.record(command, ["--debuginfod"], env=env)
    (unseen,) = [u for u in recordings.main()["unseen"] if u["code"] == "debuginfod"]
    assert "did not answer in time" in unseen["detail"]
    assert silent.connections() == 1


def wait_until(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not come to that")


@NEED
def test_an_interrupt_ends_the_downloads_and_not_the_recording(seep, silent):
    """The program has ended; Ctrl-C is about us then."""
    path = seep.directory / "out.seep"
    env = {**os.environ, **seep.environment(environment(seep, silent.url))}
    command = [SEEP, "run", "--debuginfod", "-q", "-o", path, "--", stripped(seep)]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as child:
        cache = seep.directory / "cache"
        # The library makes its folder when the first transfer begins.
        wait_until(lambda: cache.exists() and any(cache.iterdir()))
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 0
    done = seep.command("report", "--json", path)
    assert b"downloading symbols was interrupted" in done.stdout


def test_without_a_server_or_the_library_the_option_is_refused(seep):
    unset = {"DEBUGINFOD_URLS": " "}
    done = seep.command("run", "--debuginfod", "--", "/bin/true", env=unset)
    assert (done.status, done.stdout) == (2, b"")
    assert b"--debuginfod: the environment variable DEBUGINFOD_URLS names no server" in done.stderr
    _, recordings = seep.run([program("mini_dlsym")])
    done = seep.command("report", "--debuginfod", recordings.path, env=unset)
    assert done.status == 2 and b"names no server" in done.stderr
    fake = seep.directory / "libraries"
    fake.mkdir()
    (fake / "libdebuginfod.so.1").write_text("")
    env = {"DEBUGINFOD_URLS": "http://127.0.0.1:1", "LD_LIBRARY_PATH": str(fake)}
    done = seep.command("run", "--debuginfod", "--", "/bin/true", env=env)
    assert done.status == 125
    assert b"libdebuginfod.so.1 is not installed (Debian's libdebuginfod1)" in done.stderr

# SPDX-License-Identifier: MIT
"""The programs that programs.py records: how to start each, drive its load, read its answers, stop it.

An entry is a function with a Run; the decorator says what the load is and which packages it needs.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import typing

import program_inputs as inputs
from program_run import Failure, children_of


@dataclasses.dataclass
class Program:
    load: str
    packages: list
    drive: typing.Callable
    refused: bool = False


PROGRAMS = {}


def program(name, load, packages="", refused=False):
    def add(drive):
        PROGRAMS[name] = Program(load, packages.split(), drive, refused)
        return drive

    return add


def refusal(harness, name):
    """What seep says of a program that it cannot record."""
    shutil.rmtree(harness.tools.scratch / "run", ignore_errors=True)
    folder = harness.tools.scratch / "refused"
    folder.mkdir(exist_ok=True)
    command = PROGRAMS[name].drive(folder)
    plain = subprocess.run(command, capture_output=True, check=False)
    done = subprocess.run(
        [harness.tools.seep, "run", "-o", folder / "run.seep", "--", *command],
        capture_output=True, check=False,
    )  # fmt: skip
    if plain.returncode != 0 or done.returncode != 125:
        raise Failure(f"status {plain.returncode} and {done.returncode}: {done.stderr.decode()}")
    return "refused: " + " ".join(done.stderr.decode().replace(str(folder) + "/", "").split())


# ---- servers -----------------------------------------------------------------------------------


@program("redis", "redis-benchmark of 8 commands, BGSAVE, Lua", "redis-server redis-tools")
def redis(run):
    run.start(["redis-server", "--port", run.port, "--save", "", "--dir", run.work])
    cli = ["redis-cli", "-p", run.port]
    run.wait_until(lambda: run.client(*cli, "ping") == b"PONG\n", "PONG")
    run.answer("commands", run.client(*cli, stdin=inputs.REDIS.encode()))
    out = run.client(
        "redis-benchmark", "-p", run.port, "--csv", "-n", "60000", "-c", "20", "-P", "4", "-r",
        "20000", "-t", "set,get,incr,lpush,sadd,hset,zadd,lrange_100",
    ).decode()  # fmt: skip
    rates = [float(x) for x in re.findall(r'^"[A-Z][^"]*","([\d.]+)"', out, re.M)]
    run.rate = len(rates) / sum(1 / r for r in rates)
    run.client(*cli, "bgsave")
    run.wait_until(lambda: b"rdb_bgsave_in_progress:0" in run.client(*cli, "info"), "the save")
    run.client(*cli, "shutdown", "nosave", expect=None)
    run.finish()


NGINX = """
user www-data; worker_processes 2; daemon off; pid {work}/pid; error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{
    include /etc/nginx/mime.types; access_log off; gzip on; gzip_types *; gzip_min_length 100;
    client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3;
    uwsgi_temp_path {work}/t4; scgi_temp_path {work}/t5;
    server {{ listen 127.0.0.1:{port}; root {work}/www;
        location /echo/ {{ return 200 "$request_uri\\n"; }}
        location ~ ^/old/(.*)$ {{ rewrite ^/old/(.*)$ /$1 last; }}
        {more}
    }}
}}
"""


def write_nginx(run, more=""):
    www = run.work / "www"
    www.mkdir()
    (www / "index.html").write_text("<p>home</p>\n")
    (www / "words.txt").write_text(inputs.words(4000))
    for path in www.iterdir():
        os.utime(path, (10**9, 10**9))
    (run.work / "nginx.conf").write_text(NGINX.format(work=run.work, port=run.port, more=more))
    for path in (run.work.parent, run.work, www):
        path.chmod(0o755)
    return ["nginx", "-p", run.work, "-c", run.work / "nginx.conf"]


def nginx_answers(run):
    packed = {"Accept-Encoding": "gzip"}
    return b"".join(
        run.get(path, headers)
        for path in ("/", "/words.txt", "/echo/a?b=c", "/old/index.html", "/missing")
        for headers in ({}, packed)
    )


@program("nginx", "master and 2 workers as www-data: ab of static, gzip, rewrite; a reload",
         "nginx-light apache2-utils")  # fmt: skip
def nginx(run):
    run.start(write_nginx(run))
    run.wait_port()
    run.answer("pages", nginx_answers(run))
    run.http_load(15000, 8, "/", "/words.txt", "/old/index.html", "/echo/x")
    workers = children_of(run.pid())
    run.kill(signal.SIGHUP)
    run.wait_until(lambda: len(children_of(run.pid())) == 2
                   and not set(workers) & set(children_of(run.pid())), "the reload")  # fmt: skip
    run.answer("pages after the reload", nginx_answers(run))
    run.http_load(5000, 8, "/")
    run.kill(signal.SIGQUIT)
    run.finish()


def postgres_bin():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        raise Failure("postgresql is not installed")
    return found[-1]


@program("initdb", "a new PostgreSQL cluster, as user postgres", "postgresql")
def initdb(run):
    run.as_user("postgres")
    words = [postgres_bin() / "initdb", "-D", run.work / "data", "-A", "trust", "-N", "-E", "UTF8"]
    run.start([*words, "--locale", "C.UTF-8"])
    run.finish()
    names = (str(p.relative_to(run.work)) for p in (run.work / "data").rglob("*.conf"))
    run.answer("files", "\n".join(sorted(names)))


@program("PostgreSQL", "a process per connection: SQL script, pgbench 4 clients", "postgresql")
def postgres(run):
    run.as_user("postgres")
    binaries = postgres_bin()
    data = run.shared / "data"
    as_postgres = {"user": "postgres", "group": "postgres", "extra_groups": []} if run.user else {}
    if not data.exists():
        if run.user:
            os.chown(run.shared, run.user.pw_uid, run.user.pw_gid)
        run.client(binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale",
                   "C.UTF-8", **as_postgres)  # fmt: skip
    shutil.copytree(data, run.work / "data")
    if run.user:
        run.client("chown", "-R", "postgres:", run.work / "data")
    run.client("chmod", "0700", run.work / "data")
    run.start([binaries / "postgres", "-D", run.work / "data", "-k", run.work, "-p", run.port,
               "-c", "listen_addresses=", "-c", "fsync=off", "-c", "jit=on",
               "-c", "autovacuum_naptime=1s"])  # fmt: skip
    reach = ["-h", run.work, "-p", run.port, "-U", "postgres"]
    run.wait_until(lambda: run.client(binaries / "pg_isready", *reach), "the server")
    run.answer("SQL", run.client(binaries / "psql", *reach, "-Xq", "-v", "ON_ERROR_STOP=0",
                                 stdin=inputs.POSTGRES.encode()))  # fmt: skip
    bench = [binaries / "pgbench", *reach]
    run.client(*bench, "-i", "-s", "2", "-q", "postgres")
    rates = []
    for kind in (["-S", "-t", "2500"], ["-t", "500"], ["-S", "-C", "-t", "60"]):
        out = run.client(*bench, "-n", "-c", "4", "-j", "2", *kind, "postgres").decode()
        rates.append(float(re.search(r"tps = ([\d.]+)", out).group(1)))
    run.rate = len(rates) / sum(1 / r for r in rates)
    run.kill(signal.SIGINT)
    run.finish()


@program("memcached", "started by root, drops to nobody: sets, gets, deletes over 4 connections",
         "memcached")  # fmt: skip
def memcached(run):
    run.start(["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", run.port, "-m", "16", "-t", 4])
    run.wait_port()
    run.answer("protocol", inputs.memcached_script(run.port))
    run.rate = inputs.memcached_load(run.port, 4, 6000)
    run.kill(signal.SIGTERM)
    run.finish()


@program("memcached as a daemon", "the same as nobody, behind two forks of its own", "memcached")
def memcached_daemon(run):
    pid_file = run.work / "pid"
    run.as_user("nobody")
    run.start(["memcached", "-d", "-P", pid_file, "-l", "127.0.0.1", "-p", run.port, "-m", "16",
               "-t", 4])  # fmt: skip
    run.wait_port(daemon=True)
    run.wait_until(pid_file.exists, "its pid", daemon=True)
    run.answer("protocol", inputs.memcached_script(run.port))
    run.rate = inputs.memcached_load(run.port, 4, 6000)
    os.kill(int(pid_file.read_text()), signal.SIGTERM)
    run.finish()


@program("node server", "HTTP: JSON, templates, crypto, zlib; ab", "nodejs apache2-utils")
def node_server(run):
    (run.work / "server.js").write_text(inputs.NODE_SERVER)
    run.start(["node", "server.js", run.port])
    run.wait_port()
    paths = ("/json?n=50", "/template?n=20", "/hash?n=10", "/zip?n=2000", "/error")
    run.answer("pages", b"".join(run.get(path) for path in paths))
    run.http_load(3000, 8, *paths[:4])
    run.kill(signal.SIGTERM)
    run.finish()


@program("node with names", "the same program with --perf-basic-prof: a perf map", "nodejs")
def node_names(run):
    (run.work / "work.js").write_text(inputs.NODE_WORK)
    run.batch(["node", "--perf-basic-prof", "--interpreted-frames-native-stack", "work.js"])


@program("node", "sort, regular expressions, classes, promises, worker threads", "nodejs")
def node(run):
    (run.work / "work.js").write_text(inputs.NODE_WORK)
    run.batch(["node", "work.js"])


def service(run, name, paths, env=None):
    run.start([name if isinstance(name, pathlib.Path) else run.tools.copy_of(name), run.port], env)
    run.wait_port()
    run.answer("pages", b"".join(run.get(path) for path in paths))
    run.http_load(12000, 8, *paths)
    run.get("/quit")
    run.finish()
    run.answer("stdout", (run.folder / "stdout").read_bytes())


CXX_PATHS = ("/words/a+b+a+cc+long-word-" + "x" * 40, "/match/abc123+def456+g7",
             "/fail/" + "y" * 30, "/keep/" + "z" * 100)  # fmt: skip


@program("C++ service", "thread per connection, maps, regex, exceptions; ab", "apache2-utils")
def service_cxx(run):
    service(run, "service_cxx", CXX_PATHS)


def preload(name):
    return {"LD_PRELOAD": f"/usr/lib/x86_64-linux-gnu/{name}"}


@program("with jemalloc", "the same service, jemalloc preloaded", "apache2-utils libjemalloc2")
def service_jemalloc(run):
    service(run, "service_cxx", CXX_PATHS, preload("libjemalloc.so.2"))


@program("with tcmalloc", "the same, tcmalloc preloaded",
         "apache2-utils libtcmalloc-minimal4")  # fmt: skip
def service_tcmalloc(run):
    service(run, "service_cxx", CXX_PATHS, preload("libtcmalloc_minimal.so.4"))


@program("with mimalloc", "the same, mimalloc preloaded", "apache2-utils libmimalloc2.0")
def service_mimalloc(run):
    service(run, "service_cxx", CXX_PATHS, preload("libmimalloc.so.2"))


@program("jemalloc inside", "the same, linked with libjemalloc.a: malloc is the program's own",
         "apache2-utils g++ libjemalloc-dev")  # fmt: skip
def service_static_jemalloc(run):
    program_path = run.shared / "service_static"
    if not program_path.exists():
        source = pathlib.Path(__file__).parents[1] / "programs" / "service_cxx.cc"
        run.client("g++", "-O1", "-g", "-w", "-pthread", source, "-o", program_path,
                   "-l:libjemalloc.a", "-ldl", env={"CPATH": str(source.parent)})  # fmt: skip
    service(run, program_path, CXX_PATHS)


@program("Rust service", "thread per connection, Arc, panics; ab", "rustc apache2-utils")
def service_rust(run):
    paths = ("/words/a+b+a+cc+long-word-" + "x" * 40, "/sort/hello", "/panic/a+b")
    service(run, "service_rust", (*paths, "/keep/" + "z" * 100))


@program("http.server", "python3 -m http.server, a thread per request; ab", "python3 apache2-utils")
def http_server(run):
    www = run.work / "www"
    www.mkdir()
    (www / "index.html").write_text("<p>home</p>\n")
    os.utime(www / "index.html", (10**9, 10**9))
    run.start(["/usr/bin/python3", "-m", "http.server", "-b", "127.0.0.1", "-d", www, run.port])
    run.wait_port()
    run.answer("pages", run.get("/") + run.get("/missing"))
    run.http_load(2500, 4, "/")
    run.kill(signal.SIGTERM)
    run.finish(-signal.SIGTERM)


@program("asyncio", "python3 server of its own with PYTHONMALLOC=malloc; ab",
         "python3 apache2-utils")  # fmt: skip
def asyncio_server(run):
    (run.work / "server.py").write_text(inputs.ASYNCIO)
    run.start(["/usr/bin/python3", "server.py", run.port], {"PYTHONMALLOC": "malloc",
                                                            "PYTHONHASHSEED": "0"})  # fmt: skip
    run.wait_port()
    run.answer("pages", run.get("/a?x=1") + run.get("/b"))
    run.http_load(6000, 8, "/a?x=1")
    run.get("/quit")
    run.finish()


@program("php-fpm", "master and 3 workers as www-data behind nginx; ab", "php-fpm nginx-light apache2-utils")
def php_fpm(run):
    location = f"location ~ php$ {{ fastcgi_pass unix:{run.work}/fpm.sock; " \
               "include /etc/nginx/fastcgi.conf; }"
    front = write_nginx(run, location)
    (run.work / "www" / "page.php").write_text(inputs.PHP_PAGE)
    (run.work / "fpm.conf").write_text(
        f"[global]\nerror_log={run.work}/fpm.log\ndaemonize=no\n[www]\nuser=www-data\n"
        f"group=www-data\nlisten={run.work}/fpm.sock\nlisten.mode=0666\npm=static\n"
        "pm.max_children=3\npm.max_requests=2000\n"
    )
    binary = sorted(pathlib.Path("/usr/sbin").glob("php-fpm*"))[-1]
    run.start([binary, "-F", "-R", "-y", run.work / "fpm.conf"])
    run.wait_until((run.work / "fpm.sock").exists, "its socket")
    server = subprocess.Popen([str(w) for w in front], cwd=run.work)
    try:
        run.wait_port()
        run.answer("pages", run.get("/page.php?n=30") + run.get("/page.php"))
        run.http_load(2500, 4, "/page.php?n=30", "/page.php?n=3")
    finally:
        server.send_signal(signal.SIGQUIT)
        server.wait()
    run.kill(signal.SIGQUIT)
    run.finish()


@program("git daemon", "30 clones and fetches, a process each", "git")
def git_daemon(run):
    repository = run.shared / "repository"
    if not repository.exists():
        inputs.make_repository(repository)
    run.start(["git", "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={run.port}",
               "--export-all", f"--base-path={run.shared}", "--base-path-relaxed",
               run.shared], {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                             "GIT_CONFIG_VALUE_0": "*"})  # fmt: skip
    run.wait_port()
    url = f"git://127.0.0.1:{run.port}/repository"
    for n in range(15):
        run.client("git", "clone", "-q", "--bare", url, run.work / f"clone{n}")
        run.client("git", "-C", run.work / f"clone{n}", "fetch", "-q", "origin")
    run.answer("log", run.client("git", "-C", run.work / "clone3", "log", "--stat"))
    run.kill(signal.SIGTERM)
    run.finish(-signal.SIGTERM)


@program("sshd", "privilege separation; 12 logins that run a command",
         "openssh-server openssh-client")  # fmt: skip
def sshd(run):
    keys = run.shared / "key"
    if not keys.exists():
        for name in ("key", "host"):
            run.client("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", run.shared / name)
    allowed = run.shared / "allowed"
    shutil.copy(keys.with_suffix(".pub"), allowed)
    allowed.chmod(0o644)
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)
    run.start(["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", run.shared / "host",
               "-o", f"Port={run.port}", "-o", "ListenAddress=127.0.0.1", "-o", "UsePAM=no",
               "-o", f"AuthorizedKeysFile={allowed}", "-o", "StrictModes=no",
               "-o", f"PidFile={run.work}/pid"])  # fmt: skip
    run.wait_port()
    answers = [
        run.client("ssh", "-p", run.port, "-i", keys, "-o", "StrictHostKeyChecking=no", "-o",
                   "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-F", "/dev/null",
                   "root@127.0.0.1", f"seq {n} | sort -r; id -u")
        for n in range(3, 15)
    ]  # fmt: skip
    run.answer("commands", b"".join(answers))
    run.kill(signal.SIGTERM)
    run.finish()


# ---- programs that end by themselves -----------------------------------------------------------


@program("gdb", "batch: symbols of a C++ program, 150 breakpoints with backtraces, disassembly", "gdb")
def gdb(run):
    script = run.work / "script.gdb"
    script.write_text(inputs.GDB)
    target = run.tools.copy_of("operators")
    # Addresses differ between runs only if the target is moved.
    run.batch(["gdb", "-nx", "-q", "-batch", "-x", script, target],
              {"DEBUGINFOD_URLS": ""}, stdout=False)  # fmt: skip
    text = (run.folder / "stdout").read_text(errors="replace")
    run.answer("stdout", re.sub(r"\b(LWP|process) \d+|0x[0-9a-f]+", "N", text))


@program("sqlite3", "150,000 rows, index, join, window functions", "sqlite3")
def sqlite3(run):
    script = run.work / "script.sql"
    script.write_text(inputs.SQLITE)
    run.batch(["sqlite3", "-init", script, run.work / "db", ".quit"])


@program("ruby", "strings, hashes, regular expressions, fibers, threads", "ruby")
def ruby(run):
    (run.work / "work.rb").write_text(inputs.RUBY)
    run.batch(["ruby", "work.rb"])


@program("php", "arrays, strings, preg, json, generators", "php-cli")
def php(run):
    (run.work / "work.php").write_text(inputs.PHP)
    run.batch(["php", "-n", "work.php"])


@program("lua", "tables, strings, coroutines", "lua5.4")
def lua(run):
    (run.work / "work.lua").write_text(inputs.LUA)
    run.batch(["lua5.4", "work.lua"])


@program("guile", "Boehm's collector: lists, strings, hash tables, closures", "guile-3.0")
def guile(run):
    (run.work / "work.scm").write_text(inputs.GUILE)
    run.batch(["guile", "--no-auto-compile", "work.scm"])


@program("perl", "hashes, regular expressions, sort, sprintf", "perl")
def perl(run):
    (run.work / "work.pl").write_text(inputs.PERL)
    run.batch(["perl", "work.pl"], {"PERL_HASH_SEED": "0"})


@program("java", "javac and a program of maps, streams, threads, regex", "default-jdk-headless")
def java(run):
    (run.work / "Work.java").write_text(inputs.JAVA)
    run.batch(["java", "-Xmx256m", "-XX:-UsePerfData", "Work.java"])


@program("java with names", "the same with -XX:+PreserveFramePointer and a perf map",
         "default-jdk-headless")  # fmt: skip
def java_names(run):
    (run.work / "Work.java").write_text(inputs.JAVA)
    run.batch(["java", "-Xmx256m", "-XX:-UsePerfData", "-XX:+PreserveFramePointer",
               "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "Work.java"])  # fmt: skip


@program("chromium as root", "--headless --no-sandbox --dump-dom of a page with JavaScript",
         "chromium")  # fmt: skip
def chromium_root(run):
    chromium(run, ["--no-sandbox"])


@program("chromium as nobody", "the same with its sandbox: user namespaces, seccomp", "chromium")
def chromium_user(run):
    run.as_user("nobody")
    chromium(run, [])


def chromium(run, options):
    page = run.work / "page.html"
    page.write_text(inputs.PAGE)
    page.chmod(0o644)
    run.batch(
        ["chromium", "--headless", "--disable-gpu", "--disable-dev-shm-usage", *options,
         f"--user-data-dir={run.work}/profile", "--virtual-time-budget=5000", "--dump-dom",
         f"file://{page}"],
        {"XDG_RUNTIME_DIR": str(run.work)},
    )  # fmt: skip


@program("ffmpeg", "a generated video encoded, filtered and hashed, 4 threads", "ffmpeg")
def ffmpeg(run):
    run.batch(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
               "testsrc2=size=640x360:rate=25:duration=6", "-vf", "scale=320:180,hflip",
               "-c:v", "mpeg4", "-threads", "4", "-flags", "+bitexact", "-f", "md5", "-"])  # fmt: skip


@program("imagemagick", "resize, blur, text, png and jpeg", "imagemagick")
def imagemagick(run):
    run.batch(["/usr/bin/convert", "-size", "900x700", "plasma:fractal", "-seed", "7", "-resize", "60%",
               "-blur", "0x3", "-fill", "red", "-draw", "circle 99,99 50,50", "-strip",
               "-define", "png:exclude-chunks=date,time", "rose:", "-append", "-format",
               "%w %h\n", "-identify", run.work / "out.jpg"],
              {"MAGICK_THREAD_LIMIT": "2"})  # fmt: skip


@program("vim", "ex script: substitute, sort, macros, undo", "vim")
def vim(run):
    (run.work / "text").write_text(inputs.words(20000))
    (run.work / "script.vim").write_text(inputs.VIM)
    run.batch(["vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "-es", "-S", "script.vim", "text"],
              outputs=["text"])  # fmt: skip


@program("bash", "pipelines, arrays, functions, 300 subshells", "bash coreutils")
def bash(run):
    (run.work / "work.sh").write_text(inputs.BASH)
    run.batch(["bash", "work.sh"])


@program("make and gcc", "make -j2 of 12 C and C++ files and a link", "make gcc g++")
def make(run):
    inputs.write_project(run.work)
    run.batch(["make", "-s", "-j2"], {"SOURCE_DATE_EPOCH": "1"}, outputs=["program"])


@program("Go with C", "goroutines that call C, and C that calls them back while their stacks grow",
         "golang-go gcc")  # fmt: skip
def go_with_c(run):
    binary = run.shared / "go_with_c"
    if not binary.exists():
        (run.shared / "main.go").write_text(inputs.GO_WITH_C)
        run.client("env", f"HOME={run.shared}", "go", "build", "-o", binary, run.shared / "main.go")
    run.batch([binary])


@program("static Go binary", "go build", "golang-go", refused=True)
def static_go(folder):
    source = folder / "main.go"
    source.write_text('package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hello") }\n')
    binary = folder / "hello"
    environment = {**os.environ, "CGO_ENABLED": "0", "HOME": str(folder), "GOFLAGS": "-mod=mod"}
    subprocess.run(["go", "build", "-o", binary, source], check=True, env=environment, cwd=folder)
    return [binary]

# SPDX-License-Identifier: MIT
"""What the programs of program_list.py are given to do. All of it says the same in every run."""

import os
import socket
import subprocess
import threading
import time


def words(count):
    """Lines of words without meaning, always the same."""
    state, lines = 12345, []
    for _ in range(count):
        line = []
        for _ in range(5):
            state = (state * 1103515245 + 12345) % 2**31
            line.append("".join(chr(97 + (state >> shift) % 26) for shift in range(3, 3 + 3 + state % 5)))
        lines.append(" ".join(line))
    return "\n".join(lines) + "\n"


REDIS = """
SET a 1
INCRBY a 41
GET a
APPEND text hello
APPEND text world
GETRANGE text 2 7
RPUSH list 5 3 9 1
SORT list DESC
LRANGE list 0 -1
SADD one a b c
SADD two b c d
SINTERCARD 2 one two
SORT one ALPHA
HSET hash x 1 y 2
HGETALL hash
ZADD scores 3 c 1 a 2 b
ZRANGE scores 0 -1 WITHSCORES
XADD stream 1-1 field value
XRANGE stream - +
EVAL "local t = {} for i = 1, 200 do t[i] = redis.call('incr', KEYS[1]) .. ':' end return table.concat(t)" 1 n
PFADD distinct a b c a
PFCOUNT distinct
OBJECT ENCODING list
NOSUCHCOMMAND
EXPIRE a 1000
DBSIZE
"""

POSTGRES = """
CREATE TABLE t (id int PRIMARY KEY, name text, price numeric, tags jsonb);
INSERT INTO t SELECT i, 'name ' || i % 97, i * 1.5, jsonb_build_object('a', i, 'b', i % 7)
  FROM generate_series(1, 20000) i;
CREATE INDEX ON t (name);
CREATE INDEX ON t USING gin (tags);
ANALYZE t;
SELECT count(*), sum(price), max(name) FROM t;
SELECT name, count(*), avg(price)::numeric(12, 3) FROM t GROUP BY name ORDER BY 2 DESC, 1 LIMIT 9;
SELECT id FROM t WHERE tags @> '{"b": 3}' ORDER BY id LIMIT 5;
WITH RECURSIVE f(n, a, b) AS (SELECT 1, 0::numeric, 1::numeric UNION ALL
  SELECT n + 1, b, a + b FROM f WHERE n < 90) SELECT max(a) FROM f;
SELECT string_agg(regexp_replace(name, '([a-z]+) ([0-9]+)', '\\2\\1'), ',' ORDER BY id)
  FROM t WHERE id < 40;
DO $$ DECLARE s bigint := 0; BEGIN FOR i IN 1..30000 LOOP s := s + length(i::text || 'x'); END LOOP;
  RAISE NOTICE 'sum %', s; END $$;
SELECT * FROM missing;
SELECT 1/0;
SET jit_above_cost = 0; SET jit_inline_above_cost = 0;
SELECT sum(price * id), count(DISTINCT name) FROM t WHERE price > 100 AND length(name) > 6;
UPDATE t SET price = price + 1 WHERE id % 3 = 0;
DELETE FROM t WHERE id % 5 = 0;
VACUUM t;
SELECT count(*), sum(price) FROM t;
"""


def memcached_script(port):
    """Commands and all that was answered to them."""
    lines = ["set a 0 0 5", "hello", "get a", "append a 0 0 5", "world", "gets a", "incr a 1",
             "set n 0 0 1", "7", "incr n 35", "delete a", "get a", "bogus", "verbosity 0"]  # fmt: skip
    with socket.create_connection(("127.0.0.1", port)) as server:
        server.sendall(("\r\n".join(lines) + "\r\nquit\r\n").encode())
        got = b""
        while part := server.recv(65536):
            got += part
    return got


def memcached_load(port, connections, requests):
    """Pipelined sets, gets and deletes; requests per second."""

    def work(number):
        with socket.create_connection(("127.0.0.1", port)) as server:
            for i in range(0, requests, 50):
                batch, ends = [], 0
                for j in range(i, i + 50):
                    value = "v" * (10 + j * 7 % 3000)
                    key = f"{number}-{j % 997}"
                    batch.append(f"set {key} 0 0 {len(value)}\r\n{value}\r\nget {key}\r\n")
                    ends += 2
                batch.append("version\r\n")
                server.sendall("".join(batch).encode())
                got = b""
                while b"\r\nVERSION" not in got[-200:]:
                    got += server.recv(1 << 20)
                assert got.count(b"STORED\r\n") == 50 and got.count(b"END\r\n") == 50

    began = time.monotonic()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 2 * connections * requests / (time.monotonic() - began)


NODE_SERVER = r"""
const http = require('http'), crypto = require('crypto'), zlib = require('zlib');
const pages = {
  '/json': n => JSON.stringify(JSON.parse(JSON.stringify(
    Array.from({ length: n }, (_, i) => ({ id: i, name: `name ${i * 7 % 13}`, list: [i, i * 2] }))))),
  '/template': n => Array.from({ length: n }, (_, i) =>
    `<li class="${i % 2 ? 'odd' : 'even'}">${'x'.repeat(i)}</li>`).join('\n'),
  '/hash': n => { let h = 'seed'; for (let i = 0; i < n; i++)
    h = crypto.createHash('sha256').update(h).digest('hex'); return h; },
  '/zip': n => zlib.inflateSync(zlib.deflateSync(Buffer.alloc(n, 'abcd'))).toString(),
};
const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const page = pages[url.pathname];
  response.statusCode = page ? 200 : 404;
  response.end(page ? page(Number(url.searchParams.get('n'))) : 'no such page\n');
});
server.listen(Number(process.argv[2]), '127.0.0.1');
process.on('SIGTERM', () => { server.closeAllConnections(); server.close(() => process.exit(0)); });
"""

NODE_WORK = r"""
const { Worker, isMainThread, parentPort } = require('worker_threads');
class Point { constructor(x, y) { this.x = x; this.y = y; } add(p) { return new Point(this.x + p.x, this.y + p.y); } }
function work(seed) {
  let state = seed;
  const next = () => state = (state * 1103515245 + 12345) % 2147483648;
  const list = Array.from({ length: 60000 }, () => ({ key: next() % 5000, text: next().toString(36) }));
  list.sort((a, b) => a.key - b.key || (a.text < b.text ? -1 : 1));
  const map = new Map();
  for (const { key, text } of list) map.set(key, (map.get(key) || '') + text.replace(/[a-f]+/g, m => m.toUpperCase()));
  let p = new Point(0, 0);
  for (let i = 0; i < 300000; i++) p = p.add(new Point(i & 7, 1));
  const typed = new Float64Array(100000).map((_, i) => Math.sqrt(i));
  return [list[777].text, map.size, p.x, p.y, Math.round(typed.reduce((a, b) => a + b)),
          JSON.stringify([...map].slice(0, 50)).length].join(' ');
}
if (isMainThread) {
  const run = seed => new Promise((done, fail) => {
    const worker = new Worker(__filename);
    worker.on('message', done); worker.on('error', fail); worker.postMessage(seed);
  });
  (async () => {
    console.log(work(1));
    console.log((await Promise.all([run(2), run(3)])).join('\n'));
    const text = await require('fs').promises.readFile(__filename, 'utf8');
    console.log(text.length);
  })();
} else parentPort.once('message', seed => parentPort.postMessage(work(seed)));
"""

ASYNCIO = """
import asyncio, json, sys

async def page(path):
    await asyncio.sleep(0)
    data = {"path": path, "list": [{"n": i, "text": str(i) * (i % 5)} for i in range(40)]}
    return json.dumps(data, sort_keys=True)

async def main():
    stop = asyncio.Event()
    async def serve(reader, writer):
        while True:
            lines = []
            while (line := await reader.readline()) not in (b"\\r\\n", b""):
                lines.append(line)
            if not lines:
                break
            path = lines[0].split()[1].decode()
            body = (await page(path)).encode()
            writer.write(b"HTTP/1.1 200 OK\\r\\nConnection: keep-alive\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
            await writer.drain()
            if path == "/quit":
                stop.set()
                break
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await stop.wait()
    server.close()

asyncio.run(main())
"""

PHP = r"""<?php
function pairs($n) { for ($i = 0; $i < $n; $i++) yield "key" . $i % 700 => $i * 3; }
class Node { public $next; public $text; function __construct($t) { $this->text = $t; } }
$sum = [];
foreach (pairs(800000) as $k => $v) $sum[$k] = ($sum[$k] ?? 0) + $v;
ksort($sum);
$list = null;
for ($i = 0; $i < 200000; $i++) { $n = new Node(str_repeat(chr(97 + $i % 26), $i % 50)); $n->next = $list; $list = $n; }
$text = json_encode($sum);
$back = json_decode($text, true);
$found = preg_match_all('/key(\d)(\d)(\d)?/', $text, $m);
usort($back, fn($a, $b) => $b <=> $a);
try { throw new RuntimeException("x" . count($m)); } catch (Exception $e) { $text .= $e->getMessage(); }
echo strlen($text), ' ', $found, ' ', $back[10], ' ', md5(serialize($sum)), ' ', sprintf('%08.3f', array_sum($back)), "\n";
"""

PHP_PAGE = r"""<?php
header_remove('X-Powered-By'); header('Content-Type: text/plain');
$n = (int)($_GET['n'] ?? 5);
$rows = [];
for ($i = 0; $i < $n; $i++) $rows["row $i"] = ['id' => $i, 'text' => str_repeat('x', $i), 'list' => range(0, $i)];
echo json_encode($rows), "\n", preg_replace('/row (\d+)/', '<$1>', implode(',', array_keys($rows))), "\n";
"""

RUBY = r"""
class Tree
  attr_reader :left, :right, :value
  def initialize(depth, value)
    @value = value
    @left, @right = Tree.new(depth - 1, value * 2), Tree.new(depth - 1, value * 2 + 1) if depth > 0
  end
  def sum = value + (left ? left.sum + right.sum : 0)
end
words = (0...60000).map { |i| "word#{i * 7919 % 5003}" }
counts = words.tally.sort_by { |k, v| [-v, k] }
text = words.first(3000).join(' ').gsub(/word(\d)(\d*)/) { "#{$2}-#{$1}" }
fiber = Fiber.new { 3.times { |i| Fiber.yield i.to_s * 1000 }; :end }
parts = 4.times.map { fiber.resume.to_s.size }
threads = 4.times.map { |t| Thread.new { (0...20000).inject { |a, b| (a + b * t) % 1000003 } } }
begin
  raise ArgumentError, 'x' * 100
rescue => e
  text << e.message
end
puts [counts.first.inspect, text.size, text.hash.class, parts.inspect, threads.map(&:value).inspect,
      Tree.new(14, 1).sum, words.group_by(&:size).transform_values(&:size).inspect].join("\n")
"""

LUA = r"""
local t = {}
for i = 1, 200000 do t[i] = { key = i * 7919 % 100003, text = tostring(i) .. 'x' } end
table.sort(t, function(a, b) return a.key < b.key end)
local parts = {}
for i = 1, 5000 do parts[i] = t[i].text:gsub('%d', function(d) return (d + 1) % 10 .. '' end) end
local co = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(('y'):rep(i)) end end)
local n = 0
for _ = 1, 1000 do n = n + #co() end
print(#table.concat(parts), n, t[777].text, pcall(error, 'caught'))
"""

GO_WITH_C = r"""
package main

/*
#include <stdlib.h>
struct list { struct list *next; int value; };
static struct list *add(struct list *head, int value)
{
	struct list *item = malloc(sizeof(*item) + value % 100);
	item->next = head;
	item->value = value;
	return item;
}
static void drop(struct list *head)
{
	while (head) {
		struct list *next = head->next;
		free(head);
		head = next;
	}
}
extern int goGrow(int depth);
static int callBack(int depth)
{
	void *before = malloc(100);
	int sum = goGrow(depth);
	void *after = malloc(100);
	free(before);
	free(after);
	return sum;
}
*/
import "C"
import (
	"fmt"
	"sync"
)

func grow(depth int) int {
	var room [64]int
	if depth == 0 {
		return 0
	}
	room[depth%64] = depth
	return grow(depth-1) + room[depth%64]
}

//export goGrow
func goGrow(depth C.int) C.int { return C.int(grow(int(depth))) }

func work(seed int) int {
	sum := 0
	for round := 0; round < 200; round++ {
		var list *C.struct_list
		for i := 0; i < 50; i++ {
			list = C.add(list, C.int(seed+i))
		}
		for item := list; item != nil; item = item.next {
			sum += int(item.value)
		}
		C.drop(list)
		sum += int(C.callBack(C.int(round % 40 * 5)))
	}
	return sum
}

func main() {
	var group sync.WaitGroup
	sums := make([]int, 40)
	for i := range sums {
		group.Add(1)
		go func(i int) { defer group.Done(); sums[i] = work(i) }(i)
	}
	group.Wait()
	fmt.Println(sums)
}
"""

GUILE = r"""
(use-modules (srfi srfi-1) (ice-9 hash-table))
(define table (make-hash-table))
(do ((i 0 (1+ i))) ((= i 200000))
  (hashq-set! table (modulo (* i 7919) 5003) (cons i (list i))))
(define words (map (lambda (i) (string-append "word" (number->string i))) (iota 50000)))
(define sorted (sort words string<?))
(define sums (fold (lambda (w n) (+ n (string-length w))) 0 sorted))
(define (maker n) (lambda (x) (+ x n)))
(define made (map (lambda (i) ((maker i) i)) (iota 100000)))
(display (list sums (apply + made) (length (hashq-ref table 7 '())) (list-ref sorted 777)))
(newline)
"""

PERL = r"""
use strict; use warnings;
my (%h, @l); my $s = 1;
for my $i (1 .. 120000) { $s = ($s * 1103515245 + 12345) % 2147483648; my $k = "k" . $s % 7000; $h{$k} .= chr(97 + $i % 26); push @l, [$k, $i]; }
my @sorted = sort { $a->[0] cmp $b->[0] || $a->[1] <=> $b->[1] } @l;
my $text = join ' ', map { "$_=" . length $h{$_} } sort keys %h;
(my $copy = $text) =~ s/(\w+)=(\d+)/$2 $1/g;
my $n = () = $copy =~ /\bk\d*7\b/g;
eval { die { code => 7 } }; my $code = $@->{code};
printf "%d %d %s %s %d\n", length $copy, $n, $sorted[999][0], sprintf('%08.3f', $s / 7), $code;
"""

JAVA = r"""
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import java.util.stream.*;

public class Work {
    record Item(int key, String text) {}
    static String work(int seed) {
        Random random = new Random(seed);
        List<Item> items = IntStream.range(0, 100000).mapToObj(i -> new Item(random.nextInt(5000), Integer.toString(random.nextInt(), 36))).toList();
        Map<Integer, Long> counts = items.stream().collect(Collectors.groupingBy(Item::key, TreeMap::new, Collectors.counting()));
        Matcher matcher = Pattern.compile("([a-z]+)(\\d+)").matcher(items.stream().limit(5000).map(Item::text).collect(Collectors.joining(" ")));
        int found = 0;
        while (matcher.find()) found += matcher.group(2).length();
        return counts.size() + " " + counts.get(77) + " " + found;
    }
    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Future<String>> results = new ArrayList<>();
        for (int i = 0; i < 12; i++) { int seed = i; results.add(pool.submit(() -> work(seed))); }
        for (Future<String> result : results) System.out.println(result.get());
        pool.shutdown();
        java.util.zip.Deflater deflater = new java.util.zip.Deflater();
        deflater.setInput(new byte[1 << 20]); deflater.finish();
        System.out.println(deflater.deflate(new byte[1 << 20]));
        try { Object[] o = new String[1]; o[0] = 1; } catch (ArrayStoreException e) { System.out.println(e.getMessage()); }
    }
}
"""

# The program under gdb is not the one that is recorded: it must not be preloaded.
GDB = r"""
set pagination off
set width 0
set style enabled off
unset environment LD_PRELOAD
break malloc
run >/dev/null
backtrace
delete
info line main
info types .
info scope main
disassemble /s main
break operator new
set $i = 0
while $i < 150
continue
backtrace 3
set $i = $i + 1
end
delete
continue
info threads
maint info symtabs
"""

SQLITE = """
PRAGMA journal_mode = WAL;
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, value REAL);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 150000)
  INSERT INTO t SELECT i, 'name ' || i * 7919 % 1009, i * 0.5 FROM c;
CREATE INDEX names ON t (name);
SELECT name, count(*), sum(value) FROM t GROUP BY name ORDER BY 3 DESC LIMIT 7;
SELECT a.id, b.id FROM t a JOIN t b ON a.id = b.id * 1000 ORDER BY 1 LIMIT 5;
SELECT id, sum(value) OVER (ORDER BY id ROWS 10 PRECEDING) FROM t LIMIT 5 OFFSET 5000;
SELECT length(group_concat(upper(replace(name, 'a', 'bb')))) FROM t;
UPDATE t SET value = -value WHERE id % 3 = 0;
SELECT json_group_array(json_object('k', id)) FROM t WHERE id < 9;
DELETE FROM t WHERE id % 2;
VACUUM;
SELECT count(*), sum(value) FROM t;
"""

VIM = """
%s/\\v(\\w+) (\\w+)/\\2 \\1/g
sort u
normal gg0qqdwA end\x1bjq
normal 500@q
g/zz/d
undo
redo
let g:list = map(range(20000), 'v:val * 3')
call append(0, join(g:list[0:100], ','))
1,200join
wq
"""

BASH = r"""
declare -A counts
for ((i = 0; i < 20000; i++)); do k=$((i * 7919 % 1009)); counts[$k]=$((${counts[$k]:-0} + 1)); done
for k in "${!counts[@]}"; do echo "$k ${counts[$k]}"; done | sort -n | head -5
function depth { (($1 == 0)) && { echo bottom; return; }; depth $(($1 - 1)); }
depth 100
for ((i = 0; i < 300; i++)); do x=$(echo "part $i" | tr a-z A-Z); text+=$x; done
echo "${#text} ${text//PART/p}" | md5sum
seq 5000 | awk '{ s += $1; a[$1 % 7] = a[$1 % 7] $1 } END { print s, length(a[3]) }'
printf '%s\n' {a..f}{1..9} | sed 's/\(.\)\(.\)/\2\1/' | sort -r | xargs -n 9 echo | tail -2
cat <<< "$(for f in /etc/*.conf; do [[ -r $f ]] && echo ok; done | uniq)"
"""

PAGE = """<!doctype html><title>t</title><style>#out { color: green }</style>
<div id=out></div><canvas id=c width=300 height=200></canvas>
<script>
const out = document.getElementById('out');
let state = 1;
const next = () => state = (state * 1103515245 + 12345) % 2147483648;
const list = Array.from({length: 20000}, () => ({k: next() % 997, t: next().toString(36)}));
list.sort((a, b) => a.k - b.k || (a.t < b.t ? -1 : 1));
for (let i = 0; i < 400; i++) {
  const item = document.createElement('p');
  item.textContent = list[i * 7].t.replace(/[a-f]+/g, x => x.toUpperCase());
  item.className = 'c' + i % 5;
  out.appendChild(item);
}
const context = document.getElementById('c').getContext('2d');
for (let i = 0; i < 200; i++) context.fillRect(i, i % 50, 9, 9);
const done = document.createElement('b');
done.textContent = context.getImageData(5, 5, 1, 1).data.join() + ' ' + out.querySelectorAll('.c3').length;
document.body.appendChild(done);
Promise.resolve().then(() => document.title = 'ready ' + out.offsetHeight);
</script>
"""


def write_project(folder):
    """A Makefile over C and C++ files that include real headers."""
    names = []
    for i in range(6):
        (folder / f"part{i}.c").write_text(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"
            + "".join(f"int c{i}_{j}(int x) {{ char b[64]; for (int k = 0; k < x; k++) "
                      f"snprintf(b, sizeof b, \"%d\", k * {j}); return (int)strlen(b) + x * {j}; }}\n"
                      for j in range(40))
        )  # fmt: skip
        (folder / f"part{i}x.cc").write_text(
            "#include <map>\n#include <string>\n#include <vector>\n#include <algorithm>\n"
            + "".join(f"int x{i}_{j}(int n) {{ std::map<std::string, std::vector<int>> m; "
                      f"for (int k = 0; k < n; k++) m[std::to_string(k % {j + 2})].push_back(k); "
                      "int s = 0; for (auto &p : m) s += (int)p.second.size(); return s; }\n"
                      for j in range(8))
        )  # fmt: skip
        names += [f"part{i}.o", f"part{i}x.o"]
    calls = " + ".join(f"c{i}_3(7)" for i in range(6)) + " + " + " + ".join(
        f"x{i}_3(9)" for i in range(6))
    protos = "".join(f'extern "C" int c{i}_3(int); int x{i}_3(int);\n' for i in range(6))
    (folder / "main.cc").write_text(f"{protos}int main() {{ return ({calls}) % 7; }}\n")
    (folder / "Makefile").write_text(
        f"program: main.o {' '.join(names)}\n\tg++ -o $@ $^\n"
        "%.o: %.c\n\tgcc -O2 -g0 -c $< -o $@\n%.o: %.cc\n\tg++ -O1 -g0 -c $< -o $@\n"
    )


def make_repository(folder):
    """A repository with a history."""
    environment = {
        **os.environ, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example",
        "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }  # fmt: skip
    folder.mkdir()
    git = ["git", "-C", folder]
    subprocess.run([*git, "init", "-q", "-b", "main"], env=environment, check=True)
    lines = words(400).splitlines()
    for commit in range(25):
        for name in range(8):
            (folder / f"file{name}.txt").write_text("\n".join(lines[commit * name :: name + 1]) + "\n")
        subprocess.run([*git, "add", "-A"], env=environment, check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"commit {commit}"], env=environment, check=True)

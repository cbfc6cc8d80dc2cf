// SPDX-License-Identifier: MIT
// node big_document.mjs NODES OUT: the data of a report whose call tree has about so many nodes, with
// C++ names of median 60 characters; always the same for the same number. Stacks share their outer
// parts as those of compilers do: a context follows the one before for most of its depth.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

function random(seed) {
	let state = seed >>> 0;
	return (limit) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
	};
}

const SPACES = ["llvm", "clang", "eng::render", "eng::physics", "net::http", "store::detail", "ui", "std"];
const CLASSES = ["Module", "Parser", "TypeChecker", "vector", "unordered_map", "ScenePass", "Connection", "Arena"];
const VERBS = ["parse", "build", "visit", "emplace_back", "instantiate", "resolve", "rehash", "append", "load", "merge"];
const NOUNS = ["Declaration", "Expression", "Node", "Buffer", "Request", "Statement", "Index", "Texture", "Batch"];
const TYPES = ["unsigned int", "std::string const&", "llvm::StringRef", "eng::Vec3<float>", "std::span<std::byte>"];

function nameOf(fn, next) {
	const pick = (list) => list[next(list.length)];
	const argument = next(2) ? `<${pick(TYPES).replace(" const&", "")}>` : "";
	const scope = `${pick(SPACES)}::${pick(CLASSES)}`;
	const verb = `${pick(VERBS)}${pick(NOUNS)}${fn}`;
	const parameters = Array.from({ length: next(3) }, () => pick(TYPES)).join(", ");
	return {
		whole: `${scope}${argument}::${verb}(${parameters})${next(4) ? "" : " const"}`,
		brief: `${scope}${argument && "<…>"}::${verb}`,
	};
}

const FIGURES = ["first_ms", "allocs", "alloc_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes", "temporary"];
const KINDS = ["malloc", "new", "new[]", "calloc"];

function figuresOf(next) {
	const size = 16 << next(9);
	const live = 1 + next(20);
	const allocs = live + next(2000);
	const freed = allocs - live;
	return [next(100000), allocs, allocs * size, freed, freed * size, live, live * size, live, live * size, next(allocs + 1)];
}

const byStack = (a, b) => {
	for (let k = 0; k < a.length && k < b.length; k++) if (a[k] !== b[k]) return a[k] - b[k];
	return a.length - b.length;
};

/** `document.contexts` of stacks that are sorted, outermost frame first. */
function columnsOf(stacks, next) {
	const columns = { count: stacks.length, kinds: KINDS, kind: [] };
	const flat = [];
	const others = [];

	for (const key of FIGURES) columns[key] = [];
	stacks.forEach((stack, i) => {
		const before = stacks[i - 1] ?? [];
		let shared = 0;
		while (shared < before.length && shared < stack.length && before[shared] === stack[shared]) shared++;
		flat.push(shared, stack.length - shared, ...stack.slice(shared));
		columns.kind.push(next(KINDS.length));
		const figures = figuresOf(next);
		FIGURES.forEach((key, at) => columns[key].push(figures[at]));
		if (figures[5]) others.push([i, { epochs: [{ epoch: next(3), blocks: figures[5], bytes: figures[6] }] }]);
	});
	return { ...columns, stacks: flat, folds: [], others };
}

/** Paths of about five new frames, each from somewhere on the stack before; enough for so many nodes. */
function stacksOf(nodes, frames, next) {
	const stacks = [];
	for (let made = 0, stack = [0]; made < nodes; ) {
		let keep = stack.length - 1;
		while (keep > 1 && next(5)) keep--;
		const more = 1 + next(keep < 30 ? 18 : 6);
		stack = stack.slice(0, keep);
		for (let k = 0; k < more && stack.length < 120; k++) stack.push(next(frames));
		made += stack.length - keep;
		stacks.push(stack);
	}
	return stacks.sort(byStack);
}

/** `{view, document}` as the page gets it. */
export function bigDocument(nodes) {
	const next = random(nodes);
	const functions = Math.max(50, Math.round(nodes / 25));
	const names = Array.from({ length: functions }, (_, fn) => nameOf(fn, next));
	const frames = Array.from({ length: 2 * functions }, (_, at) => ({
		function: names[at % functions].whole,
		file: `/home/dev/engine/src/${SPACES[at % 7].replaceAll("::", "/")}/file${at % 211}.cpp`,
		line: 10 + next(2000), module: at % functions % 5, offset: 4096 + at * 48, exact: false, inlined: next(3) === 0,
	}));
	const stacks = stacksOf(nodes, frames.length, next);
	const contexts = columnsOf(stacks, next);
	const sum = (key) => contexts[key].reduce((all, value) => all + value, 0);
	const document = {
		seep: { version: "0", schema: 3 },
		process: { pid: 1, exe: "/usr/bin/engine", cwd: "/home/dev/engine", start_ns: 0, ended: "exit" },
		totals: Object.fromEntries(FIGURES.slice(1).map((key) => [key, sum(key)])), forked: {}, run: null,
		modules: ["/usr/bin/engine", "/opt/lib/librender.so", "/usr/lib/libstdc++.so.6", "/usr/lib/libc.so.6", "/opt/lib/libnet.so"]
			.map((path) => ({ path, build_id: null })),
		frames, contexts,
		leaks: [], scan: null, marks: [], timeline: [], unseen: [],
	};
	const view = {
		kind: "report", file: "engine.seep", apart: {}, head: ["engine"], foot: [],
		trim: stacks.flatMap(() => [0, 0]),
		function: frames.map((_, at) => at % functions), functions: names.map(({ brief }) => brief),
		origin: frames.map((_, at) => "oilso"[at % functions % 5]).join(""),
		passes: frames.map((_, at) => "01220"[at % functions % 5]).join(""),
	};
	return { view, document };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
	writeFileSync(process.argv[3], JSON.stringify(bigDocument(Number(process.argv[2]))));

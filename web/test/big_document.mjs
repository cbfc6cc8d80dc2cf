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

function contextOf(id, frames, next) {
	const size = 16 << next(9);
	const live = next(3) ? next(20) : 0;
	const allocs = live + next(2000);
	return {
		id, hash: Array.from({ length: 16 }, () => next(16).toString(16)).join(""),
		kind: ["malloc", "new", "new[]", "calloc"][next(4)], first_ns: 12036231661554 + next(2 ** 31),
		allocs, alloc_bytes: allocs * size, frees: allocs - live, freed_bytes: (allocs - live) * size,
		live_blocks: live, live_bytes: live * size, peak_blocks: live, peak_bytes: live * size,
		temporary: next(allocs + 1),
		...(live ? { epochs: [{ epoch: next(3), blocks: live, bytes: live * size }] } : {}),
		frames,
	};
}

/** `{view, document}` as the page gets it. */
export function bigDocument(nodes) {
	const next = random(nodes);
	const functions = Math.max(50, Math.round(nodes / 25));
	const perFunction = 2;
	const contexts = [];
	const names = Array.from({ length: functions }, (_, fn) => nameOf(fn, next));
	const frames = Array.from({ length: functions * perFunction }, (_, at) => ({
		function: names[at % functions].whole,
		file: `/home/dev/engine/src/${SPACES[at % 7].replaceAll("::", "/")}/file${at % 211}.cpp`,
		line: 10 + next(2000), module: at % functions % 5, offset: 4096 + at * 48, address: 93824992231424 + at * 48,
		exact: false, inlined: next(3) === 0,
	}));
	let stack = [0];

	// A path of new nodes at a time: five new ones on average, from any depth of the stack before.
	for (let made = 0; made < nodes; ) {
		const keep = Math.max(1, stack.length - 1 - (next(4) ? next(7) : next(40)));
		const more = 1 + next(keep < 30 ? 18 : 6);
		stack = stack.slice(0, keep);
		for (let k = 0; k < more && stack.length < 120; k++) stack.push(next(frames.length));
		made += stack.length - keep;
		contexts.push(contextOf(contexts.length + 1, [...stack].reverse(), next));
	}
	const document = {
		seep: { version: "0", schema: 2 }, process: { pid: 1, exe: "/usr/bin/engine", cwd: "/home/dev/engine", ended: "exit" },
		totals: {}, forked: {}, run: null,
		modules: ["/usr/bin/engine", "/opt/lib/librender.so", "/usr/lib/libstdc++.so.6", "/usr/lib/libc.so.6", "/opt/lib/libnet.so"]
			.map((path) => ({ path, build_id: null })),
		frames, contexts, leaks: [], scan: null, findings: [], scopes: [], marks: [], timeline: [], unseen: [],
	};
	const view = {
		kind: "report", file: "engine.seep", answer: null, head: ["engine"], foot: [],
		trim: contexts.flatMap(({ frames: { length } }) => [0, length]),
		function: frames.map((_, at) => at % functions), functions: names.map(({ brief }) => brief),
		origin: frames.map((_, at) => "oilso"[at % functions % 5]).join(""),
	};
	return { view, document };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
	writeFileSync(process.argv[3], JSON.stringify(bigDocument(Number(process.argv[2]))));

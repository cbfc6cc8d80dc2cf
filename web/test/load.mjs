// SPDX-License-Identifier: MIT
// Modules of src/ for node, through esbuild, and documents for tests.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const source = fileURLToPath(new URL("../src/", import.meta.url));

/** Loads "model" and the like: all in one bundle, so that they share their parts. */
export async function load(...names) {
	const folder = mkdtempSync(join(tmpdir(), "seep-page-"));
	const outfile = join(folder, "modules.mjs");
	try {
		await build({
			stdin: { contents: names.map((name) => `export * from "./${name}";`).join("\n"), resolveDir: source },
			bundle: true, format: "esm", outfile, logLevel: "error",
		});
		return await import(pathToFileURL(outfile).href);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** The same numbers for the same seed. */
export function random(seed) {
	let state = seed >>> 0;
	return (limit) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * limit);
	};
}

export const FIGURES = [
	"first_ms", "allocs", "alloc_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes",
	"peak_blocks", "peak_bytes", "temporary",
];

const sharedOf = (a, b) => {
	let shared = 0;
	while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared++;
	return shared;
};

/**
 * What the page is given, of rows: {stack: frame indexes outermost first, trim: [inner, outer],
 * figures by key, and other members of a context}.
 */
export function pageOf(rows, frames, { leaks = [], functions, ...more } = {}) {
	const columns = { count: rows.length, kinds: ["malloc"], kind: rows.map(() => 0), stacks: [], folds: [], others: [] };
	for (const key of FIGURES) columns[key] = rows.map((row) => row[key] ?? 0);
	rows.forEach((row, i) => {
		const shared = i ? sharedOf(rows[i - 1].stack, row.stack) : 0;
		columns.stacks.push(shared, row.stack.length - shared);
		for (const frame of row.stack.slice(shared)) columns.stacks.push(frame);
		if (row.others) columns.others.push([i, row.others]);
	});
	return {
		document: {
			process: { start_ns: 1000, cwd: "/src" }, totals: {}, modules: [{ path: "/bin/app" }, { path: "/lib/libx.so" }],
			frames, contexts: columns, leaks, ...more,
		},
		view: {
			kind: "report", file: "app.seep", apart: {}, head: [], foot: [],
			trim: rows.flatMap((row) => row.trim ?? [0, 0]),
			function: functions ?? frames.map((_, i) => i), functions: frames.map((frame) => frame.function),
			origin: "o".repeat(frames.length), passes: "0".repeat(frames.length),
		},
	};
}

/** A report of random stacks, with everything that a context may have. */
export function randomPage(seed, contexts = 60) {
	const next = random(seed);
	const count = 30;
	const functions = Array.from({ length: count }, (_, i) => i % 20);
	const frames = functions.map((fn, i) => ({
		function: `ns::f${fn}`, file: `/src/f${fn}.c`, line: 1 + (i % 7), module: i % 2, offset: 16 * i, exact: false, inlined: false,
	}));
	const rows = Array.from({ length: contexts }, () => {
		const depth = next(9);
		const stack = Array.from({ length: depth }, (_, k) => (k < 2 ? next(2) : next(count)));
		const inner = next(2);
		const live = next(5) * 100;
		const others = {
			...(next(3) ? {} : { thread: `t${next(3)}` }),
			...(next(6) ? {} : { truncated: true }),
			...(next(8) ? {} : { flags: [["cut", "no-stack", "other"][next(3)]] }),
			...(live ? { epochs: [{ epoch: next(3), blocks: live / 100, bytes: live }] } : {}),
			...(next(5) ? {} : { growth: { verdict: "GROWING", bytes: 7 * next(50), returned: next(2) === 1 } }),
		};
		return {
			stack, trim: depth > 2 ? [inner, 1] : [0, 0], others, first_ms: next(1000), live_bytes: live, live_blocks: live / 100,
			allocs: 1 + next(90), alloc_bytes: 1 + next(9000), peak_bytes: next(700), peak_blocks: next(9), temporary: next(4),
		};
	});
	rows.sort((a, b) => String(a.stack.map((x) => x + 100)).localeCompare(String(b.stack.map((x) => x + 100))));
	const leaks = Array.from({ length: 12 }, () => ({
		verdict: ["LOST", "LOST-WITH", "LOST-CYCLE", "MAYBE-LOST", "REACHABLE"][next(5)],
		context: next(7) ? 1 + next(contexts) : null, bytes: next(500), blocks: next(5), frames: [],
	}));
	return { rows, page: pageOf(rows, frames, { leaks, functions }), leaks, functions };
}

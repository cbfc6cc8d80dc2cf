// SPDX-License-Identifier: MIT
// Every figure of the model against sums over the document that are made in the plainest way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bigDocument } from "./big_document.mjs";
import { load, pageOf, randomPage } from "./load.mjs";

const { loadModel, MEASURES } = await load("model");
const ALL = { measure: "live", thread: null, scope: null, module: null, epochs: null };
const SEEDS = Array.from({ length: 25 }, (_, i) => i + 1);
const LOST = ["LOST", "LOST-WITH", "LOST-CYCLE"];
const SPECIAL = { "no-stack": -2, other: -3, cut: -5 };

function plainValue({ rows, leaks }, measure, i) {
	const row = rows[i];
	const growth = row.others.growth;
	const lost = (key) => leaks.filter((leak) => LOST.includes(leak.verdict) && leak.context === i + 1).reduce((sum, leak) => sum + leak[key], 0);
	switch (measure) {
		case "live": return [row.live_bytes, row.live_blocks];
		case "peak": return [row.peak_bytes, row.peak_blocks];
		case "allocated": return [row.alloc_bytes, row.allocs];
		case "temporary": return [row.temporary, 0];
		case "lost": return [lost("bytes"), lost("blocks")];
		default: return [growth?.verdict === "GROWING" && !growth.returned ? growth.bytes : 0, 0];
	}
}

function plainSpecial({ stack, others }) {
	const flags = others.flags ?? [];
	if (flags.includes("no-stack")) return SPECIAL["no-stack"];
	if (flags.includes("other")) return SPECIAL.other;
	if (others.truncated) return -4;
	return flags.includes("cut") ? SPECIAL.cut : stack.length ? 0 : SPECIAL["no-stack"];
}

const worthwhile = ({ stack, trim: [inner, outer] }) => stack.slice(outer, stack.length - inner);

/** By path the value and blocks of a call tree. */
function plainTree(made, measure, whole, keep = () => true) {
	const nodes = new Map();
	const add = (path, value, blocks) => {
		const [v, b] = nodes.get(path) ?? [0, 0];
		nodes.set(path, [v + value, b + blocks]);
	};
	made.rows.forEach((row, i) => {
		const [value, blocks] = plainValue(made, measure, i);
		if (!value || !keep(row)) return;
		const special = plainSpecial(row);
		const frames = (whole ? row.stack : worthwhile(row)).map((frame) => made.functions[frame]);
		const path = [...(special ? [special] : []), ...frames];
		for (let k = 0; k <= path.length; k++) add(path.slice(0, k).join(" "), value, blocks);
	});
	return nodes;
}

function treeByPath(tree) {
	const nodes = new Map();
	for (let node = 0; node < tree.count; node++)
		nodes.set(tree.path(node).slice(1).map((at) => tree.fn[at]).join(" "), [tree.value[node], tree.blocks[node]]);
	return nodes;
}

test("contexts have the figures of the document in every measure", () => {
	for (const seed of SEEDS) {
		const made = randomPage(seed);
		const model = loadModel(made.page);
		assert.deepEqual(model.damage, []);
		for (const measure of MEASURES)
			made.rows.forEach((_, i) =>
				assert.deepEqual([model.contexts.value(measure, i), model.contexts.blocks(measure, i)], plainValue(made, measure, i)));
	}
});

test("call trees sum what their stacks have, whole or without plumbing", () => {
	for (const seed of SEEDS)
		for (const measure of MEASURES.filter((one) => one !== "lost"))
			for (const whole of [false, true]) {
				const made = randomPage(seed);
				const model = loadModel(JSON.stringify(made.page));
				const tree = model.tree(model.weigh({ ...ALL, measure }), whole);
				const plain = plainTree(made, measure, whole);
				if (plain.size === 0) plain.set("", [0, 0]);
				assert.deepEqual(treeByPath(tree), plain);
			}
});

test("lost bytes without a stack in the document are in the total and below a node of their own", () => {
	for (const seed of SEEDS) {
		const made = randomPage(seed);
		const model = loadModel(made.page);
		const sum = (key) => made.leaks.filter((leak) => LOST.includes(leak.verdict)).reduce((all, leak) => all + leak[key], 0);
		const weights = model.weigh({ ...ALL, measure: "lost" });
		assert.equal(weights.total, sum("bytes"));
		assert.equal(weights.blockTotal, sum("blocks"));
		assert.equal(model.tree(weights, false).value[0], sum("bytes"));
	}
});

test("filters keep what they say", () => {
	const filters = [
		[{ thread: "t1" }, (row) => row.others.thread === "t1"],
		[{ thread: "t0", module: "1" }, ({ stack, trim: [, outer], others }) => others.thread === "t0" && stack.slice(outer).some((frame) => frame % 2 === 1)],
		[{ module: "1" }, ({ stack, trim: [, outer] }) => stack.slice(outer).some((frame) => frame % 2 === 1)],
		[{ thread: "nobody" }, () => false],
	];
	for (const seed of SEEDS)
		for (const [patch, keep] of filters) {
			const made = randomPage(seed);
			const model = loadModel(made.page);
			const weights = model.weigh({ ...ALL, measure: "allocated", ...patch });
			const plain = plainTree(made, "allocated", false, keep);
			assert.equal(weights.total, plain.get("")?.[0] ?? 0);
			assert.deepEqual(treeByPath(model.tree(weights, false)), plain.size ? plain : new Map([["", [0, 0]]]));
		}
});

test("epochs keep the live bytes that were allocated in them", () => {
	for (const seed of SEEDS) {
		const made = randomPage(seed);
		const model = loadModel(made.page);
		const sum = made.rows.flatMap((row) => row.others.epochs ?? [])
			.filter(({ epoch }) => epoch >= 1 && epoch <= 2).reduce((all, { bytes }) => all + bytes, 0);
		assert.equal(model.weigh({ ...ALL, epochs: [1, 2] }).total, sum);
		assert.equal(model.weigh({ ...ALL, epochs: [0, 9] }).total, model.weigh(ALL).total);
	}
});

test("the function table counts a function once per stack", () => {
	for (const seed of SEEDS) {
		const made = randomPage(seed);
		const model = loadModel(made.page);
		const table = model.functionTable(model.weigh({ ...ALL, measure: "allocated" }));
		const plain = new Map();
		made.rows.forEach((row, i) => {
			const [value, blocks] = plainValue(made, "allocated", i);
			const own = made.functions[row.stack[row.stack.length - 1 - row.trim[0]]];
			for (const fn of new Set(row.stack.map((frame) => made.functions[frame]))) {
				const [self, inclusive, inBlocks, stacks] = plain.get(fn) ?? [0, 0, 0, 0];
				plain.set(fn, [self + (fn === own ? value : 0), inclusive + value, inBlocks + blocks, stacks + 1]);
			}
		});
		const rows = Array.from({ length: table.count }, (_, k) =>
			[table.fn[k], [table.self[k], table.inclusive[k], table.blocks[k], table.stacks[k]]]);
		assert.deepEqual(new Map(rows.sort((a, b) => a[0] - b[0])), new Map([...plain].sort((a, b) => a[0] - b[0])));
	}
});

test("callers and callees of a function have its inclusive figure, lines cover it", () => {
	for (const seed of SEEDS) {
		const model = loadModel(randomPage(seed).page);
		const weights = model.weigh({ ...ALL, measure: "allocated" });
		const table = model.functionTable(weights);
		for (let k = 0; k < table.count; k++) {
			const fn = table.fn[k];
			const callers = model.callers(weights, fn, true);
			const callees = model.callees(weights, fn, true);
			assert.equal(callers.value[0], table.inclusive[k]);
			assert.equal(callees.value[0], table.inclusive[k]);
			assert.equal(callers.fn[0], fn);
			// Outwards of where it stands outermost it cannot be met again.
			assert.ok(!callers.fn.subarray(1).includes(fn));
			const lines = model.lines(weights, fn);
			assert.ok(lines.every(({ value }) => value <= table.inclusive[k]));
			assert.ok(lines.reduce((sum, { value }) => sum + value, 0) >= table.inclusive[k]);
		}
	}
});

test("children lie inside their parents, in order, without overlap", () => {
	const model = loadModel(bigDocument(3000));
	const tree = model.tree(model.weigh({ ...ALL, measure: "allocated" }), false);
	let rows = 0;
	for (let depth = 0; depth < tree.height; depth++)
		for (let at = tree.rowStart[depth]; at < tree.rowStart[depth + 1]; at++, rows++) {
			const node = tree.rows[at];
			const parent = tree.parent[node];
			assert.equal(tree.depth[node], depth);
			if (at > tree.rowStart[depth]) assert.ok(tree.x[node] >= tree.x[tree.rows[at - 1]] + tree.width[tree.rows[at - 1]]);
			if (parent < 0) continue;
			assert.ok(tree.x[node] >= tree.x[parent]);
			assert.ok(tree.x[node] + tree.width[node] <= tree.x[parent] + tree.width[parent]);
			assert.ok(tree.place[node] > tree.place[parent] && tree.past[node] <= tree.past[parent]);
		}
	assert.equal(rows, tree.count);
});

test("a node is found again by the functions of its path", () => {
	const model = loadModel(randomPage(3).page);
	for (const whole of [false, true]) {
		const tree = model.tree(model.weigh({ ...ALL, measure: "allocated" }), whole);
		for (let node = 0; node < tree.count; node++)
			assert.equal(tree.find(tree.path(node).slice(1).map((at) => tree.fn[at])), node);
	}
	assert.equal(model.tree(model.weigh(ALL), false).find([999, 3]), 0);
});

test("the same question has the same answer, so that nothing is drawn again", () => {
	const model = loadModel(randomPage(2).page);
	const weights = model.weigh(ALL);
	const tree = model.tree(weights, false);
	for (const measure of MEASURES)
		for (const thread of [null, "t0", "t1", "t2"]) {
			model.weigh({ ...ALL, measure, thread });
			assert.equal(model.weigh({ ...ALL }), weights);
			assert.equal(model.tree(weights, false), tree);
		}
});

test("what matches counts once where one match is below another", () => {
	const frames = ["main", "work", "work", "grow"].map((name, i) => ({ function: name, line: i + 1, module: 0 }));
	const rows = [
		{ stack: [0, 1, 2, 3], live_bytes: 100, live_blocks: 1 },
		{ stack: [0, 1, 3], live_bytes: 10, live_blocks: 1 },
		{ stack: [0, 3], live_bytes: 1, live_blocks: 1 },
	];
	const model = loadModel(pageOf(rows, frames, { functions: [0, 1, 1, 2] }));
	const tree = model.tree(model.weigh(ALL), true);
	assert.deepEqual(tree.union(Uint8Array.of(0, 1, 0)), { value: 110, width: 110, nodes: 2 });
	assert.deepEqual(tree.union(Uint8Array.of(0, 1, 1)), { value: 111, width: 111, nodes: 5 });
	assert.deepEqual([...model.passing(Uint8Array.of(0, 1, 0))], [1, 1, 0]);
});

test("folded recursion is known by place and by node", () => {
	const frames = ["main", "a", "b", "leaf"].map((name) => ({ function: name, line: 1, module: 0 }));
	const page = pageOf([{ stack: [0, 1, 2, 3], live_bytes: 8, live_blocks: 1 }], frames);
	page.document.contexts.folds = [0, 1, 1, 1, 300];
	const model = loadModel(page);
	assert.deepEqual(model.contexts.folds(0), [{ from: 1, to: 2, times: 300, or_more: false }]);
	const tree = model.tree(model.weigh(ALL), true);
	assert.deepEqual([...model.repeats(tree, true)], [[tree.find([0, 1]), "×300 (period 2)"]]);
});

test("a diff is after minus before, and as wide as what changed", () => {
	const frames = ["main", "grew", "shrank", "gone"].map((name) => ({ function: name, line: 1, module: 0 }));
	const change = (frame, before, after) => ({
		verdict: "GROWN", hash: "0", kind: "malloc", frames: [frame, 0],
		before: before && { live_bytes: before, live_blocks: 1 }, after: after && { live_bytes: after, live_blocks: 2 },
	});
	const page = pageOf([], frames);
	delete page.document.contexts;
	page.document.measure = "live";
	page.document.changes = [change(1, 10, 110), change(2, 90, 50), change(3, 7, null)];
	page.view.kind = "diff";
	page.view.trim = [0, 0, 0, 0, 0, 0];
	const model = loadModel(page);
	assert.deepEqual(model.damage, []);
	const weights = model.weigh(ALL);
	assert.deepEqual([...weights.value], [100, -40, -7]);
	assert.equal(weights.total, 53);
	assert.equal(weights.width, 147);
	const tree = model.tree(weights, false);
	assert.deepEqual([tree.value[0], tree.width[0], tree.blocks[0]], [53, 147, 1]);
	assert.equal(tree.sum(model.contexts.before)[0], 107);
	assert.equal(tree.sum(model.contexts.after)[0], 160);
});

test("names show what has no shape, and briefly say what has no name", () => {
	const frames = [
		{ function: "evil\u202e\u0000name</script>", file: "/src/a\nb.c", line: 3, module: 0 },
		{ function: null, file: null, line: null, module: 1, offset: 6699, address: 1 },
	];
	const page = pageOf([{ stack: [0, 1], live_bytes: 1, live_blocks: 1 }], frames);
	page.view.functions = ["evil\u202ename", null];
	const model = loadModel(page);
	assert.equal(model.functionName(0), "evil\\u{202e}name");
	assert.equal(model.frameText(0).name, "evil\\u{202e}\\u{0}name</script>");
	assert.equal(model.frameText(0).place, "a\\u{a}b.c:3");
	assert.equal(model.functionName(1), "libx.so + 0x1a2b");
});

test("measures whose total is not known are not offered, whatever their columns say", () => {
	const row = { stack: [0], live_bytes: 5, live_blocks: 1, peak_bytes: 5, peak_blocks: 1, allocs: 3, alloc_bytes: 9, temporary: 1 };
	const modelOf = (totals, lead) => {
		const page = pageOf([row], [{ function: "main", line: 1, module: 0 }]);
		page.document.totals = { live_bytes: 5, peak_bytes: 5, alloc_bytes: 9, temporary: 1, ...totals };
		page.document.lead = lead;
		return loadModel(page);
	};
	assert.deepEqual(modelOf({}).measures, ["live", "peak", "allocated", "temporary"]);
	assert.deepEqual(modelOf({ peak_bytes: null, alloc_bytes: null, temporary: null }).measures, ["live"]);
	const blind = modelOf({ live_bytes: null, peak_bytes: null });
	assert.deepEqual(blind.measures, ["allocated", "temporary"]);
	assert.equal(blind.mainMeasure, "allocated");
	assert.equal(modelOf({}).mainMeasure, "live");
	for (const [lead, measure] of [["peak", "peak"], ["allocs", "allocated"], ["temporary", "temporary"], ["none", "live"], [7, "live"]])
		assert.equal(modelOf({}, { measure: lead }).mainMeasure, measure);
});

test("library code between two callers is one part", () => {
	const frames = Array.from({ length: 6 }, (_, i) => ({ function: `f${i}` }));
	const page = pageOf([{ stack: [0] }], frames);
	const parts = (passes, origin) => {
		Object.assign(page.view, { passes, origin });
		return loadModel(page).frames.parts([0, 1, 2, 3, 4, 5]).map(({ at, count, via }) => (via ? `via ${at}+${count}` : String(at)));
	};
	assert.deepEqual(parts("022010", "ollooi"), ["0", "via 1+2", "3", "via 4+1", "5"]);
	// Of a library that is installed the program's calls of it are no plumbing.
	assert.deepEqual(parts("122012", "illoil"), ["0", "via 1+2", "3", "4", "via 5+1"]);
	assert.deepEqual(parts("522012", "lllool"), ["0", "1", "2", "3", "4", "5"]);
	assert.deepEqual(parts("0x", "o"), ["0", "1", "2", "3", "4", "5"]);
});

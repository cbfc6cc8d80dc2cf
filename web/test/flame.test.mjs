// SPDX-License-Identifier: MIT
// What the flame graph draws from: colours, labels, searches, and which box is where.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bigDocument } from "./big_document.mjs";
import { load, random } from "./load.mjs";

const { loadModel, contrast, dark, light, endings, Ruler, compile, search, inSight, nodeAt, beside, windowOf, rowsInSight, roomyTop } =
	await load("model", "flame/palette", "flame/label", "flame/search", "flame/geometry");
const ALL = { measure: "allocated", thread: null, scope: null, module: null, epochs: null };

test("text on every fill has a contrast of 4.5 or more", () => {
	for (const palette of [light, dark]) {
		const fills = [...Object.values(palette.origin).flat(), ...palette.module.flat(), ...palette.grew, ...palette.shrank, palette.special, palette.root];
		for (const fill of fills)
			for (const text of [palette.text, palette.softText])
				assert.ok(contrast(text, fill) >= 4.5, `${text} on ${fill}: ${contrast(text, fill).toFixed(2)}`);
		assert.ok(contrast(palette.dimText, palette.dim) >= 4.5);
		assert.ok(contrast(palette.matchText, palette.match) >= 4.5);
		for (const fill of fills) assert.ok(contrast(palette.focus, fill) >= 3 || contrast(palette.focusGap, fill) >= 3);
	}
});

test("what grew and what shrank are told apart by lightness of hue for all eyes", () => {
	// Blue against red and green, the axis that all but the rarest colour blindness keeps.
	const blueness = (hex) => parseInt(hex.slice(5, 7), 16) - parseInt(hex.slice(1, 3), 16);
	for (const palette of [light, dark])
		for (const step of [3, 5, 7]) assert.ok(blueness(palette.shrank[step]) - blueness(palette.grew[step]) > 40);
});

test("a name loses its scopes before its end", () => {
	assert.deepEqual(endings("a::b<c::d>::e"), ["a::b<c::d>::e", "b<c::d>::e", "e"]);
	assert.deepEqual(endings("f(std::string)"), ["f(std::string)"]);
	assert.deepEqual(endings("N::operator<<"), ["N::operator<<", "operator<<"]);
	assert.deepEqual(endings("N::operator()"), ["N::operator()", "operator()"]);
	assert.deepEqual(endings("libfoo.so + 0x1a2b"), ["libfoo.so + 0x1a2b", "0x1a2b"]);
	const ruler = new Ruler((text) => 10 * text.length);
	assert.equal(ruler.fit("vector<…>::push_back", 500), "vector<…>::push_back");
	assert.equal(ruler.fit("vector<…>::push_back", 100), "push_back");
	assert.equal(ruler.fit("vector<…>::push_back", 60), "push_…");
	assert.equal(ruler.fit("vector<…>::push_back", 20), "");
	assert.equal(ruler.fit("go", 20), "go");
});

test("a search is a substring in any case, or an expression that cannot run away", () => {
	const finds = (query, text) => {
		const test = compile(query);
		return test.holds(test.lowered ? text.toLowerCase() : text);
	};
	assert.equal(finds("Push", "Vector::push_back"), true);
	assert.equal(finds("a.c", "abc"), false);
	assert.equal(finds("/a.c/", "xabc"), true);
	assert.equal(finds("/ABC/i", "xabc"), true);
	assert.equal(finds("/ABC/", "xabc"), false);
	for (const bad of ["/(/", "/[/", "/(a+)+$/", "/(a|a)*b/", "/((x*)y)*/", "/(?:\\d+,)*z/", "//", "x".repeat(501)])
		assert.equal(typeof compile(bad), "string", bad);
});

test("a search finds functions by name and file", () => {
	const model = loadModel(bigDocument(2000));
	const fn = 7;
	const name = model.functionName(fn);
	assert.equal(search(model, name).of[fn], 1);
	assert.ok(search(model, "file7.cpp").functions > 0);
	assert.equal(search(model, "").of, null);
	assert.equal(search(model, "no such name").functions, 0);
	assert.equal(search(model, "/(/").of, null);
	assert.ok(search(model, "/(/").problem);
});

test("the box at a place is the one that lies there, in any window", () => {
	const model = loadModel(bigDocument(3000));
	const tree = model.tree(model.weigh(ALL), false);
	const next = random(5);
	for (let round = 0; round < 300; round++) {
		const top = next(tree.count);
		const window = windowOf(tree, top);
		window.from += (window.span * next(50)) / 100;
		window.span *= 0.3;
		const row = next(tree.height);
		const seen = [];
		for (let node = 0; node < tree.count; node++)
			if (tree.place[node] >= tree.place[top] && tree.place[node] < tree.past[top] && tree.depth[node] === tree.depth[top] + row &&
				tree.x[node] + tree.width[node] > window.from && tree.x[node] < window.from + window.span) seen.push(node);
		seen.sort((a, b) => tree.x[a] - tree.x[b]);
		const [low, high] = inSight(window, row);
		assert.deepEqual([...tree.rows.subarray(low, high)], seen);
		const x = window.from + (window.span * next(1000)) / 1000;
		const there = seen.find((node) => tree.x[node] <= x && x < tree.x[node] + tree.width[node]) ?? -1;
		assert.equal(nodeAt(window, row, x), there);
	}
});

test("moving sideways stays in the row and in the window", () => {
	const model = loadModel(bigDocument(2000));
	const tree = model.tree(model.weigh(ALL), false);
	const window = windowOf(tree, tree.order[1]);
	for (let node = 1; node < tree.count; node++) {
		if (tree.place[node] < tree.place[window.top] || tree.place[node] >= tree.past[window.top]) continue;
		const right = beside(window, node, 1);
		assert.equal(tree.depth[right], tree.depth[node]);
		if (right !== node) assert.equal(beside(window, right, -1), node);
	}
	assert.equal(rowsInSight(windowOf(tree, 0), 0), tree.height);
	const small = tree.order[tree.count - 1];
	assert.ok(tree.width[small] >= 0.1 * tree.width[roomyTop(tree, small, 0.1)]);
});

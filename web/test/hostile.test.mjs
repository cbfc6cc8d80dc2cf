// SPDX-License-Identifier: MIT
// Damaged and malicious documents: nothing throws, nothing runs away, and the page can say so.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load, random, randomPage } from "./load.mjs";

const { loadModel, MEASURES } = await load("model");
const JUNK = [
	null, undefined, true, -1, 0.5, 1e308, 2 ** 53, 4294967296, "", "18446744073709551615", "x".repeat(5000), "\u202e\u0000",
	[], {}, [[[]]], { length: 1e9 }, [null, 1, "2", {}], { __proto__: null }, NaN, Infinity, -Infinity,
];

/** Every question that the page asks. */
function ask(model) {
	for (const measure of MEASURES)
		for (const patch of [{}, { thread: "t0" }, { module: "1" }, { epochs: [0, 1] }]) {
			const weights = model.weigh({ measure, thread: null, scope: null, module: null, epochs: null, ...patch });
			for (const whole of [false, true]) {
				const tree = model.tree(weights, whole);
				assert.ok(tree.count >= 1 && tree.count < 10000);
				model.repeats(tree, whole);
				for (const fn of [0, 3]) {
					model.callers(weights, fn, whole);
					model.callees(weights, fn, whole);
				}
			}
			model.functionTable(weights);
			model.lines(weights, 3);
		}
	for (let i = 0; i < model.contexts.count; i++) {
		model.contexts.row(i);
		model.contexts.frames(i, false);
		model.contexts.epochs(i);
	}
	for (let frame = 0; frame < Math.min(model.frames.count, 100); frame++) model.frameText(frame);
	for (let fn = -6; fn < Math.min(model.frames.functionCount, 100); fn++) model.functionName(fn);
	assert.equal(model.frames.haystacks.length, model.frames.functionCount);
}

/** All places of a document, as an object and a key. */
function placesOf(value, places = []) {
	if (typeof value === "object" && value !== null)
		for (const key of Object.keys(value)) {
			places.push([value, key]);
			placesOf(value[key], places);
		}
	return places;
}

test("a document with anything anywhere is shown as far as it is sound", () => {
	const next = random(7);
	let told = 0;

	for (let round = 0; round < 600; round++) {
		const { page } = randomPage(round, 12);
		const places = placesOf(page);
		for (let k = next(4) + 1; k > 0; k--) {
			const [holder, key] = places[next(places.length)];
			const junk = JUNK[next(JUNK.length)];
			if (next(5) === 0 && Array.isArray(holder)) holder.length = next(holder.length + 1);
			else if (next(5) === 0 && !Array.isArray(holder)) delete holder[key];
			else holder[key] = junk;
		}
		const model = loadModel(page);
		if (model.damage.length > 0) told++;
		ask(model);
	}
	assert.ok(told > 100, `only ${told} were told`);
});

test("what is no document at all is an empty model that says so", () => {
	for (const input of ["", "{", "[]", "null", "7", '"x"', '{"view":[],"document":[]}', '{"document":{"contexts":{"count":1e15}}}']) {
		const model = loadModel(input);
		assert.ok(model.damage.length > 0, input);
		ask(model);
	}
});

test("counts that are not there take no memory", () => {
	const { page } = randomPage(1, 5);
	page.document.contexts.count = 4294967295;
	const model = loadModel(page);
	assert.ok(model.contexts.count < 1000);
	assert.ok(model.damage.includes("contexts are missing"));
});

test("stacks that share more than there is end there", () => {
	const { page } = randomPage(1, 5);
	page.document.contexts.stacks = [0, 2, 0, 1, 900, 1, 2, 0, 1, 0, 0, 1, 1, 0, 1, 2];
	const model = loadModel(page);
	assert.deepEqual([...model.contexts.frames(0, true)], [1, 0]);
	assert.equal(model.contexts.frames(1, true).length, 0);
	ask(model);
});

test("names that are members of every object are names", () => {
	const { page } = randomPage(1, 5);
	for (const [, other] of page.document.contexts.others) Object.assign(other, { thread: "__proto__" });
	page.document.contexts.others.push([0, { thread: "toString" }]);
	ask(loadModel(JSON.stringify(page)));
});

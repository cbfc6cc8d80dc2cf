// SPDX-License-Identifier: MIT
// The flame graph: what each box holds, and every way to move through it.
import assert from "node:assert/strict";
import { test } from "./registry.mjs";
import { box, choose, colours, digits, facts, MEASURES, measure, measures, number, search, settled, spoken, tab } from "./screen.mjs";
import { functions, sum, total, tree } from "./truth.mjs";

const canvas = (page) => page.locator(".flame-canvases canvas").first();
const overlay = (page) => page.locator(".flame-canvases canvas").last();
const way = (page) => page.locator(".way button").allTextContents();

async function press(page, ...keys) {
	await page.getByRole("tree").first().focus();
	for (const key of keys) await page.keyboard.press(key);
	await settled(page);
}

async function open(session, name = "tour", options = {}) {
	const page = await session.open(name, { hash: "flame", wait: ".flame-pane", ...options });
	await settled(page);
	return page;
}

/** Boxes of a level from left to right, by the keyboard, at most so many. */
async function level(page, depth, most) {
	const found = [];

	await press(page, "Home", ...Array(depth).fill("ArrowDown"));
	for (let before = null; found.length < most; ) {
		const here = await box(page);
		const same = JSON.stringify(here);
		if (same === before) break;
		found.push(here);
		before = same;
		await page.keyboard.press("ArrowRight");
		await settled(page);
	}
	return found;
}

const widest = (node) => [...node.children.values()].sort((a, b) => b.value - a.value);

test("boxes of the flame graph have the values of the call tree, in each measure", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");

	await page.getByLabel("Plumbing").check();
	for (const name of Object.keys(MEASURES)) {
		await measure(page, name);
		const root = tree(doc, name);
		await press(page, "Home");
		assert.equal((await box(page)).value, root.value, name);
		let node = root;
		for (let depth = 1; depth < 9 && node.children.size > 0; depth++) {
			await page.keyboard.press("ArrowDown");
			await settled(page);
			const here = await box(page);
			const candidates = widest(node).filter(({ value }) => value === widest(node)[0].value);
			node = candidates.find((one) => here.name.startsWith(one.name));
			assert.ok(node, `${name}, level ${depth}: ${here.name}, want ${candidates.map((one) => one.name)}`);
			assert.equal(here.value, node.value, `${name}: ${here.name}`);
			assert.equal(here.level, depth + 1);
		}
		assert.ok(await colours(canvas(page)) > 3, `${name} is drawn`);
	}
});

test("the measures offered are those that have something", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const clean = await session.open("clean", { hash: "flame" });

	assert.deepEqual(await measures(page), Object.keys(MEASURES).filter((name) => total(doc, name) > 0));
	assert.equal((await measures(page)).length, 6);
	assert.deepEqual(await measures(clean), Object.keys(MEASURES).filter((name) => total(session.document("clean"), name) > 0));
	await page.setViewportSize({ width: 400, height: 800 });
	await settled(page);
	await choose(page, "Measure", "allocated");
	assert.match(await page.locator("#panel-flame").textContent(), /3\.1 MB/, "narrow screens have a list");
});

test("the boxes of a level are all of the tree's, the widest first", async (session) => {
	const page = await open(session);
	const root = tree(session.document("tour"), "allocated");

	await page.getByLabel("Plumbing").check();
	await measure(page, "allocated");
	const wanted = widest(root).map(({ value }) => value);
	assert.deepEqual((await level(page, 1, 20)).map(({ value }) => value), wanted);
	const next = widest(root).flatMap((node) => widest(node)).map(({ value }) => value);
	assert.deepEqual((await level(page, 2, 20)).map(({ value }) => value), next.slice(0, 20));
});

test("below the graph stands all that is known of the box in focus", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const of = functions(doc, "live").get("fill_cache");
	const blocks = sum(doc.contexts.filter(({ frames }) => doc.frames[frames[0]]?.function === "fill_cache"), ({ live_blocks }) => live_blocks);

	await search(page, "fill_cache");
	await press(page, "n");
	const { name, facts: shown } = await box(page);
	assert.match(name, /^fill_cache/);
	assert.equal(shown.Inclusive, `${digits(of.inclusive)} bytes in ${blocks} blocks`);
	assert.equal(number(shown.Own), of.own);
	assert.equal(Number.parseFloat(shown["Share of all"]), Math.round((1000 * of.inclusive) / total(doc, "live")) / 10);
	assert.match(await page.locator(".in-focus .tip-where").textContent(), /page_tour\.c:\d+ .*own code/);
	assert.match(await spoken(page), /^fill_cache, .* of all, 64 blocks, level \d+/);
});

test("a click zooms in, and the way and the keys lead out again", async (session) => {
	const page = await open(session);
	const { x, y, width } = await overlay(page).boundingBox();
	const whole = await way(page);

	await page.mouse.click(x + width * 0.3, y + 30);
	await settled(page);
	const inside = await way(page);
	assert.equal(inside.length, whole.length + 1);
	assert.equal(inside.at(-1), "main");
	const focus = await box(page);
	await press(page, "ArrowDown", "ArrowUp");
	assert.equal((await box(page)).name, focus.name);
	await press(page, "Escape");
	assert.deepEqual(await way(page), whole);
	await press(page, "Enter");
	assert.deepEqual(await way(page), inside);
	await press(page, "Backspace");
	assert.deepEqual(await way(page), whole);
	await press(page, "Home", "ArrowDown", " ");
	assert.deepEqual(await way(page), inside);
	await page.locator(".way button").first().click();
	await settled(page);
	assert.deepEqual(await way(page), whole);
});

test("zooming shows another picture, and out the same as before", async (session) => {
	const page = await open(session);
	const picture = () => canvas(page).evaluate((element) => element.toDataURL());
	const before = await picture();

	await press(page, "ArrowDown", "ArrowDown", "Enter");
	const inside = await picture();
	assert.ok(inside !== before, "zoomed");
	await press(page, "Backspace", "Backspace");
	assert.equal((await way(page)).length, 1);
	assert.ok(await picture() === before, "as before");
});

test("a long way is folded in its middle, and unfolds", async (session) => {
	const page = await open(session);

	await search(page, "left_1");
	await press(page, "n");
	for (let i = 0; i < 8; i++) await press(page, "Enter");
	await search(page, "");
	await press(page, "Home", "ArrowDown", "Enter");
	assert.ok((await way(page)).length <= 6, String(await way(page)));
	assert.ok((await way(page)).includes("…"));
	const before = (await way(page)).at(-1);
	await page.locator(".way button", { hasText: "…" }).click();
	await settled(page);
	assert.notEqual((await way(page)).at(-1), before);
});

test("the wheel scales with Ctrl, plus and minus do as well, and a drag moves", async (session) => {
	const page = await open(session);
	const { x, y, width } = await overlay(page).boundingBox();
	const picture = () => canvas(page).evaluate((element) => element.toDataURL());
	const [one, places] = [await picture(), [x + width / 2, y + 30]];

	await page.mouse.move(...places);
	await page.keyboard.down("Control");
	await page.mouse.wheel(0, -300);
	await page.keyboard.up("Control");
	await settled(page);
	const two = await picture();
	assert.ok(two !== one, "scaled");
	await page.mouse.down();
	await page.mouse.move(places[0] - 200, places[1], { steps: 4 });
	await page.mouse.up();
	await settled(page);
	assert.ok(await picture() !== two, "moved");
	assert.equal((await way(page)).length, 1, "a drag is no click");
	for (let i = 0; i < 20; i++) await press(page, "-");
	await page.mouse.move(5, 5);
	await settled(page);
	assert.ok(await picture() === one, "the whole width again");
	await press(page, "+");
	assert.ok(await picture() !== one, "widened");
});

test("fingers focus at the first tap, zoom at the second, and pinch", async (session) => {
	const page = await open(session, "tour", { hasTouch: true, isMobile: true, viewport: { width: 800, height: 900 } });
	const { x, y, width } = await overlay(page).boundingBox();

	await page.touchscreen.tap(x + width * 0.3, y + 40);
	await settled(page);
	assert.equal((await way(page)).length, 1);
	assert.match((await box(page)).name, /^main/);
	await page.touchscreen.tap(x + width * 0.3, y + 40);
	await settled(page);
	assert.equal((await way(page)).length, 2);
	await press(page, "Escape");
	const before = await canvas(page).evaluate((element) => element.toDataURL());
	const session_ = await page.context().newCDPSession(page);
	const touch = (type, points) => session_.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, id]) => ({ x: px, y: y + 40, id })) });
	await touch("touchStart", [[x + width * 0.4, 1], [x + width * 0.6, 2]]);
	for (let i = 1; i <= 5; i++) await touch("touchMove", [[x + width * (0.4 - i * 0.04), 1], [x + width * (0.6 + i * 0.04), 2]]);
	await touch("touchEnd", []);
	await settled(page);
	assert.ok(await canvas(page).evaluate((element) => element.toDataURL()) !== before, "pinched");
});

test("the pointer shows a tooltip with the figures of the box below it", async (session) => {
	const page = await open(session);
	const { x, y, width } = await overlay(page).boundingBox();

	await page.mouse.move(x + width * 0.2, y + 30);
	await page.waitForSelector(".tip");
	const shown = await facts(page.locator(".tip"));
	const main = tree(session.document("tour"), "live", (context) => context.thread === "page_tour");
	assert.match(await page.locator(".tip .tip-name").textContent(), /^main/);
	assert.equal(number(shown.Inclusive), main.value);
	const edges = await page.locator(".tip").boundingBox();
	await page.mouse.move(x + width - 3, y + 30);
	await settled(page);
	const far = await page.locator(".tip").boundingBox().catch(() => edges);
	assert.ok(far.x + far.width <= 1280 && far.x >= 0);
	await page.mouse.move(5, 5);
	await settled(page);
	assert.equal(await page.locator(".tip").count(), 0);
});

test("a search marks hits, tells what they have together, and steps from hit to hit", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const plain = await colours(canvas(page));

	await search(page, "lose_");
	const wanted = sum(doc.contexts.filter(({ frames }) => frames.some((at) => /lose_/.test(doc.frames[at].function))), ({ live_bytes }) => live_bytes);
	const text = await page.locator(".flame-found").textContent();
	assert.match(text, /^3 functions found: /);
	assert.equal(Number.parseFloat(/([\d.]+)% of all/.exec(text)[1]), Math.round((1000 * wanted) / total(doc, "live")) / 10);
	assert.notEqual(await colours(canvas(page)), plain);
	const met = new Set();
	for (let i = 0; i < 3; i++) {
		await press(page, "n");
		met.add((await box(page)).name);
	}
	assert.deepEqual([...met].map((name) => name.replace(/\(.*/, "")).sort(), ["lose_cycle", "lose_list", "lose_one"]);
	const last = (await box(page)).name;
	await press(page, "n", "N");
	assert.equal((await box(page)).name, last);
	await page.getByRole("button", { name: "The next match" }).click();
	await page.getByRole("button", { name: "The match before" }).click();
	await settled(page);
	assert.equal((await box(page)).name, last);
	assert.match(await page.locator(".legend").textContent(), /matches the search/);
});

test("a search between slashes is a regular expression; a wrong one is told", async (session) => {
	const page = await open(session);

	await search(page, "/^lose_(one|list)/");
	assert.match(await page.locator(".flame-found").textContent(), /^2 functions found/);
	await search(page, "/^LOSE_one$/");
	assert.match(await page.locator(".flame-found").textContent(), /^No function matches/);
	await search(page, "/^LOSE_one$/i");
	assert.match(await page.locator(".flame-found").textContent(), /^1 function found/);
	await search(page, "LOSE_ONE");
	assert.match(await page.locator(".flame-found").textContent(), /^1 function found/);
	for (const [wrong, said] of [["/lose_(/", /No regular expression: /], ["/(a+)+$/", /repeats a repetition/], ["//", /is empty/], [`x${"y".repeat(600)}`, /too long/]]) {
		await search(page, wrong);
		assert.match(await page.locator(".flame-found .warn").textContent(), said);
		assert.ok(await colours(canvas(page)) > 3);
	}
	await search(page, "no such function");
	assert.match(await page.locator(".flame-found").textContent(), /^No function matches/);
	await page.locator("#search").press("Escape");
	await settled(page);
	assert.equal(await page.locator(".flame-found").count(), 0);
});

test("direction and colours can be chosen", async (session) => {
	const page = await open(session);
	const picture = () => canvas(page).evaluate((element) => element.toDataURL());
	const icicle = await picture();

	await page.getByRole("button", { name: "Flame", exact: true }).click();
	await settled(page);
	const flame = await picture();
	assert.ok(flame !== icicle, "turned over");
	await press(page, "Home");
	const root = (await box(page)).value;
	await press(page, "ArrowUp");
	assert.equal((await box(page)).level, 2, "up is inwards");
	await press(page, "ArrowDown");
	assert.equal((await box(page)).value, root);
	await page.getByRole("button", { name: "Icicle" }).click();
	await press(page, "Home");
	await page.getByRole("button", { name: "Module" }).click();
	await settled(page);
	assert.match(await page.locator(".legend").textContent(), /page_tour/);
	await page.getByRole("button", { name: "Origin" }).click();
	await settled(page);
	assert.match(await page.locator(".legend").textContent(), /own code/);
});

test("the sandwich shows callers, callees and lines of one function", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const { inclusive, own } = functions(doc, "live").get("new_item");

	await search(page, "new_item");
	await press(page, "n", "s");
	const sandwich = page.locator(".sandwich");
	assert.match(await sandwich.locator(".sandwich-name").textContent(), /^new_item/);
	assert.equal(await page.locator(".flame-pane").count(), 2);
	assert.equal((await box(page)).value, inclusive);
	assert.equal(inclusive, own, "it calls nobody");
	const callers = page.locator(".half.above").getByRole("tree");
	await callers.focus();
	await page.keyboard.press("Home");
	await page.keyboard.press("ArrowUp");
	await settled(page);
	const via = (name) => sum(doc.contexts.filter(({ frames }) => doc.frames[frames[0]]?.function === "new_item" && doc.frames[frames[1]]?.function === name), ({ live_bytes }) => live_bytes);
	const first = await box(page);
	assert.match(first.name, /^lose_list/);
	assert.equal(first.value, via("lose_list"));
	await page.keyboard.press("ArrowRight");
	await settled(page);
	assert.equal((await box(page)).value, via("lose_cycle"));
	assert.match(await sandwich.textContent(), /Callees *none: it allocates itself/);
	await page.keyboard.press("s");
	await settled(page);
	assert.match(await sandwich.locator(".sandwich-name").textContent(), /^lose_cycle/);
	await page.getByRole("tree").first().focus();
	await page.keyboard.press("Escape");
	await settled(page);
	assert.equal(await sandwich.count(), 0);
	assert.equal(await page.getByRole("tree").evaluate((tree) => tree === document.activeElement), true);
});

test("source lines of a function come to what it has", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");

	await search(page, "/^main$/");
	await press(page, "n", "s");
	const lines = page.locator("details.lines");
	if (!(await lines.getAttribute("open"))) assert.equal(await lines.count(), 1);
	const shown = await lines.locator("tr").evaluateAll((list) => list.map((row) => [row.cells[2].textContent.replace(/.*:/, ""), row.cells[0].textContent]));
	const wanted = new Map();
	for (const { frames, live_bytes } of doc.contexts) {
		const at = frames.find((frame) => doc.frames[frame].function === "main");
		if (at !== undefined && live_bytes) wanted.set(doc.frames[at].line, (wanted.get(doc.frames[at].line) ?? 0) + live_bytes);
	}
	assert.deepEqual(shown.map(([line]) => Number(line)), [...wanted].sort((a, b) => b[1] - a[1]).map(([line]) => line));
});

test("recursion is told at the box where it begins", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const folded = doc.contexts.find((context) => context.folded && doc.frames[context.frames[0]].function === "descend").folded[0];

	await search(page, "descend");
	await press(page, "n");
	for (let i = 0; i < 3 && !(await box(page)).facts.Recursion; i++) await press(page, "ArrowDown");
	assert.match((await box(page)).facts.Recursion, new RegExp(`×${folded.times}$`));
});

test("the path of a box is copied as a folded stack", async (session) => {
	const page = await open(session);

	await search(page, "fill_cache");
	await press(page, "n", "c");
	const wanted = `main;fill_cache ${functions(session.document("tour"), "live").get("fill_cache").own}`;
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), wanted);
	await page.evaluate(() => navigator.clipboard.writeText(""));
	await page.getByRole("button", { name: "Copy path" }).click();
	await settled(page);
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), wanted);
});

test("plumbing is hidden at first, and shown on demand", async (session) => {
	const page = await open(session);

	await press(page, "Home", "ArrowDown");
	assert.match((await box(page)).name, /^main/);
	await page.getByLabel("Plumbing").check();
	await press(page, "Home", "ArrowDown");
	assert.match((await box(page)).name, /^_start/);
});

test("the graph keeps its zoom while other views are looked at", async (session) => {
	const page = await open(session);

	await press(page, "ArrowDown", "Enter");
	const before = await way(page);
	await tab(page, "Stacks");
	await tab(page, "Flame graph");
	assert.deepEqual(await way(page), before);
});

test("a leaf takes the focus and does not zoom; what of it is lost is told", async (session) => {
	const page = await open(session);
	const [leak] = session.document("tour").leaks;

	await search(page, "fill_cache");
	await press(page, "n", "Enter");
	assert.equal((await way(page)).length, 1);
	await search(page, "lose_one");
	await press(page, "n");
	assert.equal((await box(page)).facts.Lost, `${digits(leak.bytes)} bytes, 100.0%`);
});

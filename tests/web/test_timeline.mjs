// SPDX-License-Identifier: MIT
// The course of the run: what was allocated in the epochs that are brushed, and lives still, is what --json
// says of these epochs.
import assert from "node:assert/strict";
import { join } from "node:path";
import { readData, writeData } from "./rewrite.mjs";
import { test } from "./registry.mjs";
import { colours, digits, number, rows, settled, tab, table } from "./screen.mjs";
import { sum, survivors, total } from "./truth.mjs";

const open = (session, options = {}) => session.open("tour", { hash: "timeline", viewport: { width: 1500, height: 1000 }, ...options });

/** Moments at which epochs begin, and the end, as shares of the plot: the last sample may follow the end. */
function moments({ process, marks, timeline }) {
	const all = Math.max(process.end_ns, timeline.at(-1).at_ns) - process.start_ns;
	return [process.start_ns, ...marks.map(({ at_ns }) => at_ns), process.end_ns].map((at_ns) => (at_ns - process.start_ns) / all);
}

/** What the view says of what lives of the brushed epochs, and that it is the truth of them. */
async function check(page, doc, from, to) {
	await settled(page);
	const wanted = survivors(doc, from, to);
	const heading = await page.locator(".timeline section.grow h2").textContent();
	assert.ok(heading.includes(` in ${digits(wanted.blocks)} block`), `${heading}, wanted ${wanted.blocks}`);
	const shown = await rows(page, "What still lives");
	assert.equal(sum(shown, (row) => number(row["Still lives"].exact)), wanted.bytes, heading);
	assert.equal(sum(shown, (row) => number(row.Blocks.text)), wanted.blocks);
	return heading;
}

test("each epoch says what of it still lives", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const shown = await rows(page, "Epochs");

	assert.equal(shown.length, doc.marks.length + 1);
	shown.forEach((row, epoch) => assert.equal(number(row["Still lives"].exact), survivors(doc, epoch, epoch).bytes, row.Epoch.text));
	assert.deepEqual(doc.marks.filter(({ name }) => name).map(({ name }) => name), ["warm", "serving", "closing"]);
	for (const name of ["warm", "serving", "closing"]) assert.ok(shown.some((row) => row.Epoch.text.startsWith(name)), name);
	assert.equal(sum(shown, (row) => number(row["Still lives"].exact)), total(doc, "live"));
});

test("a brush by the mouse shows what was allocated then and still lives", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const times = moments(doc);
	const serving = doc.marks.find(({ name }) => name === "serving").epoch;
	const closing = doc.marks.find(({ name }) => name === "closing").epoch;
	const { x, y, width, height } = await page.locator(".timeline .u-over").first().boundingBox();
	const at = (share) => x + share * width;

	await check(page, doc, 0, 1000);
	await page.mouse.move(at(times[serving]) + 2, y + height / 2);
	await page.mouse.down();
	await page.mouse.move(at(0.4), y + height / 2, { steps: 3 });
	await page.mouse.move(at((times[closing - 1] + times[closing]) / 2), y + height / 2, { steps: 3 });
	await page.mouse.up();
	const heading = await check(page, doc, serving, closing - 1);
	assert.match(heading, /^Allocated from serving to closing, and still live/);
	assert.ok(survivors(doc, serving, closing - 1).bytes < total(doc, "live"));
	await tab(page, "Flame graph");
	assert.match(await page.locator(".chip").textContent(), /Allocated from serving to closing/);
	await page.getByRole("tree").focus();
	await page.keyboard.press("Home");
	await settled(page);
	assert.match(await page.locator(".in-focus").textContent(), new RegExp(`${digits(survivors(doc, serving, closing - 1).bytes)} bytes`));
	await page.locator(".chip").click();
	await settled(page);
	assert.match(await page.locator(".in-focus").textContent(), new RegExp(`${digits(total(doc, "live"))} bytes`));
});

test("a brush by a finger does the same, and a tap takes one epoch", async (session) => {
	const page = await open(session, { hasTouch: true, isMobile: true, viewport: { width: 900, height: 1000 } });
	const doc = session.document("tour");
	const times = moments(doc);
	const { x, y, width } = await page.locator(".timeline .u-over").first().boundingBox();
	const cdp = await page.context().newCDPSession(page);
	const touch = (type, share) => cdp.send("Input.dispatchTouchEvent", {
		type, touchPoints: share === null ? [] : [{ x: x + share * width, y: y + 40 }],
	});
	const last = times.length - 2;

	await touch("touchStart", (times[2] + times[3]) / 2);
	for (const share of [0.4, 0.5, (times[last - 1] + times[last]) / 2]) await touch("touchMove", share);
	await touch("touchEnd", null);
	await check(page, doc, 2, last - 1);
	const middle = (times[3] + times[4]) / 2;
	await touch("touchStart", middle);
	await touch("touchEnd", null);
	await check(page, doc, 3, 3);
});

test("keys brush: an epoch, the next, several, and the whole run again", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const press = (key) => page.keyboard.press(key);

	await page.getByRole("group", { name: /^Timeline/ }).focus();
	await press("ArrowRight");
	await check(page, doc, 0, 0);
	await press("ArrowRight");
	await check(page, doc, 1, 1);
	await press("Shift+ArrowRight");
	await press("Shift+ArrowRight");
	await check(page, doc, 1, 3);
	await press("Shift+ArrowLeft");
	await check(page, doc, 1, 2);
	await press("ArrowLeft");
	await check(page, doc, 0, 0);
	await press("Escape");
	assert.match(await check(page, doc, 0, 1000), /^Still live, of the whole run/);
	await press("ArrowLeft");
	await check(page, doc, doc.marks.length, doc.marks.length);
});

test("rows of epochs brush as well, and take it back", async (session) => {
	const page = await open(session);
	const doc = session.document("tour");
	const row = (i) => table(page, "Epochs").locator(".grid-row").nth(i);

	await row(2).click();
	await check(page, doc, 2, 2);
	assert.equal(await row(2).getAttribute("aria-selected"), "true");
	await row(4).click({ modifiers: ["Shift"] });
	await check(page, doc, 2, 4);
	await row(1).click();
	await check(page, doc, 1, 1);
	await row(1).click();
	await check(page, doc, 0, 1000);
});

test("the timeline draws live bytes, the resident set, the rate, the peak and marks", async (session) => {
	const page = await open(session);
	const plots = page.locator(".timeline .plot");

	assert.equal(await plots.count(), 2);
	for (const i of [0, 1]) assert.ok(await colours(plots.nth(i).locator("canvas").first()) > 5);
	assert.match(await plots.first().getAttribute("aria-label"), /Live bytes and resident set over time, from 0 to .*; 3 named marks: warm, serving, closing/);
});

test("without epochs the timeline says what would make them", async (session) => {
	const page = await session.open("clean", { hash: "timeline" });

	assert.match(await page.locator("#panel-timeline").textContent(), /no timeline|one epoch only/);
});

test("with one epoch only there is nothing to brush, which is told", async (session) => {
	const data = readData(session.path("tour"));

	data.document.marks = [];
	const page = await session.open(writeData(session.path("tour"), join(session.scratch, "one-epoch.html"), data), { hash: "timeline" });
	assert.match(await page.locator("#panel-timeline").textContent(), /The recording has one epoch only/);
	assert.equal(await page.locator(".brushable").count(), 0);
});

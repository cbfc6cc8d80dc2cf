// SPDX-License-Identifier: MIT
// node figures.mjs PAGE DOCUMENT: whether the figures that a browser shows of a page equal those of
// `seep report --json`: totals, every row of the call stacks in each measure, leaks, growth.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [path, json] = process.argv.slice(2);
const wanted = JSON.parse(readFileSync(json, "utf8"));
const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args });
// So tall that no table leaves a row out.
const page = await browser.newPage({ viewport: { width: 1600, height: 400 + 28 * (wanted.contexts.length + wanted.leaks.length) } });
const messages = [];
page.on("console", (message) => messages.push(message.text()));
page.on("pageerror", (error) => messages.push(error.stack));
page.on("request", (request) => /^(file|data):/.test(request.url()) || messages.push(request.url()));
await page.goto(`file://${path}`);
await page.waitForSelector("#panel-overview");

const falling = (numbers) => numbers.filter((one) => one > 0).sort((a, b) => b - a);
const number = (text) => Number(/^[\d,]+/.exec(text)?.[0].replaceAll(",", "") ?? NaN);

const titles = await page.$$eval("#panel-overview dl.totals [title]", (all) => all.map((one) => one.title));
const { live_bytes, peak_bytes, allocs, usable_bytes } = wanted.totals;
const overhead = Math.max(0, usable_bytes - live_bytes);
assert.deepEqual(
	titles.slice(0, 3).concat(titles.at(-1)).map(number),
	[live_bytes, peak_bytes, allocs, overhead],
);

/** Figures of a column of the open table, from what it says in full. */
async function column(panel, index) {
	await page.waitForFunction((name) => {
		const table = document.querySelector(`#panel-${name} .grid`);
		return table && table.querySelectorAll(".grid-row").length === Number(table.getAttribute("aria-rowcount")) - 1;
	}, panel);
	const cells = await page.$$eval(`#panel-${panel} .grid-row`, (rows, i) => rows.map((row) => row.children[i].title), index);
	return cells.map(number);
}

let rows = 0;
await page.click("#tab-stacks");
const KEYS = { live: "live_bytes", peak: "peak_bytes", allocated: "alloc_bytes", temporary: "temporary" };
const offered = await page.evaluate(() => [...window.seep.model.measures]);
for (const [measure, key] of Object.entries(KEYS)) {
	const expected = falling(wanted.contexts.map((context) => context[key]));
	if (!offered.includes(measure)) {
		assert.deepEqual(expected, []);
		continue;
	}
	await page.evaluate((name) => window.seep.store.set({ measure: name }), measure);
	await page.waitForSelector(`#panel-stacks .grid[aria-rowcount="${expected.length + 1}"]`);
	assert.deepEqual(await column("stacks", 1), expected, measure);
	rows += expected.length;
}

await page.click("#tab-leaks");
if (wanted.leaks.length) {
	await page.click("text=Everything");
	// malloc(0) leaks blocks of no bytes.
	assert.deepEqual(falling(await column("leaks", 2)), falling(wanted.leaks.map((leak) => leak.bytes + leak.with_bytes)));
	assert.deepEqual(falling(await column("leaks", 3)), falling(wanted.leaks.map((leak) => leak.bytes)));
	rows += wanted.leaks.length;
}
await page.click("#tab-growth");
const grown = wanted.contexts.flatMap(({ growth }) => (growth?.verdict ? [growth.bytes] : []));
assert.deepEqual(await column("growth", 2), falling(grown));
assert.deepEqual(messages, []);
await browser.close();
console.log(`${rows + grown.length} rows equal`);

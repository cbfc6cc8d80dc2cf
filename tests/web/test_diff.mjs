// SPDX-License-Identifier: MIT
// Pages of diffs: what changed, with the figures of `seep diff --json`.
import assert from "node:assert/strict";
import { test } from "./registry.mjs";
import { box, colours, digits, number, rows, search, settled, tab, table } from "./screen.mjs";
import { sum } from "./truth.mjs";

const WIDE = { viewport: { width: 1700, height: 900 } };
const KEYS = { live: "live_bytes", peak: "peak_bytes" };

async function changes(session, name, measure) {
	const page = await session.open(name, { hash: "changes", ...WIDE });
	const doc = session.document(name);
	const key = KEYS[measure];
	const shown = await rows(page, "Changes");

	assert.equal(doc.measure, measure);
	assert.deepEqual(
		shown.map((row) => [row.Verdict.text.replace(/^\W+/, ""), number(row.Before.exact), number(row.After.exact), number(row.Change.exact), row.Kind.text].join(" ")),
		[...doc.changes].sort((a, b) => Math.abs(b.after[key] - b.before[key]) - Math.abs(a.after[key] - a.before[key]))
			.map((one) => [one.verdict, one.before[key], one.after[key], one.after[key] - one.before[key], one.kind].join(" ")),
	);
	return { page, doc };
}

test("changes of live bytes are those of the document, with each verdict", async (session) => {
	const { page, doc } = await changes(session, "diff", "live");

	assert.deepEqual([...new Set(doc.changes.map(({ verdict }) => verdict))].sort(), ["GONE", "GROWN", "NEW", "SHRUNK"]);
	for (const { verdict } of doc.changes) {
		await page.locator(".panel-changes .choices button", { hasText: verdict }).click();
		await settled(page);
		const wanted = doc.changes.filter((one) => one.verdict === verdict);
		assert.equal((await rows(page, "Changes")).length, wanted.length);
		const change = sum(wanted, ({ before, after }) => after.live_bytes - before.live_bytes);
		assert.equal(number(await page.locator(".panel-changes .summary [title]").getAttribute("title")), change);
	}
	await page.getByRole("button", { name: "All", exact: true }).click();
	await search(page, "only_");
	assert.equal((await rows(page, "Changes")).length, 2);
});

test("changes of peaks are those of the document", async (session) => {
	await changes(session, "peaks", "peak");
});

test("the overview of a diff says what changed, by how much, and both totals", async (session) => {
	const page = await session.open("diff");
	const { totals, changes: all } = session.document("diff");
	const rows_ = await page.locator(".panel .totals-table tbody tr").evaluateAll((list) =>
		list.map((row) => [...row.cells].map((cell) => cell.querySelector("[title]")?.title || cell.title || cell.textContent)));
	const names = { "Live bytes": "live_bytes", "Live blocks": "live_blocks", Peak: "peak_bytes", Allocations: "allocs", "Allocated bytes": "alloc_bytes", Frees: "frees", Temporary: "temporary" };

	assert.equal(rows_.length, 7);
	for (const [name, before, after, change] of rows_) {
		const key = names[name];
		assert.deepEqual([number(before), number(after), number(change)], [totals.before[key], totals.after[key], totals.after[key] - totals.before[key]], name);
	}
	const text = await page.locator(".panel .answer").textContent();
	assert.match(text, /more: live bytes went from .* to /);
	for (const { verdict } of all) assert.ok(text.includes(verdict));
	assert.equal(number(await page.locator(".panel .largest tbody tr [title]").first().getAttribute("title")),
		Math.max(...all.map(({ before, after }) => Math.abs(after.live_bytes - before.live_bytes))));
	await page.locator(".panel .largest tbody tr button").first().click();
	await page.waitForSelector(".panel-changes .detail");
	assert.match(await page.locator(".detail").textContent(), new RegExp(all[0].hash));
});

test("the overview of a diff says which leaks are new, grown and gone", async (session) => {
	for (const [name, words, factor] of [["diff", "Leaks: 1 shrunk, 2 as before", ""], ["back", "Leaks: 1 grown, 2 as before", "×5"]]) {
		const page = await session.open(name);
		const { leaks, frames } = session.document(name);
		const card = page.locator(".panel .leak-changes");
		const shown = await card.locator("tbody tr").evaluateAll((list) =>
			list.map((row) => [row.cells[0].title, row.cells[1].textContent, row.cells[3].querySelector("b").textContent]));

		assert.equal((await card.locator("h2").textContent()).replace("▲", ""), words);
		assert.equal(await card.locator(".sign").count(), factor ? 1 : 0);
		const exact = (side) => `${side.live_bytes.toLocaleString("en")} bytes`;
		assert.deepEqual(shown, leaks.changes.map((one) => [`${exact(one.before)} → ${exact(one.after)}`, factor, frames[one.frames[0]].function]));
		await card.getByRole("button").first().click();
		await page.waitForSelector(".panel-changes .detail");
		assert.match(await page.locator(".detail").textContent(), new RegExp(leaks.changes[0].hash));
	}
});

test("a diff with what was not scanned compares no leaks", async (session) => {
	const page = await session.open("blind");

	assert.equal(session.document("blind").leaks, null);
	assert.equal(await page.locator(".panel .leak-changes").innerText(),
		"Leaks are not compared\n\nafter was not scanned: no leak check was made when it was recorded");
	const held = await session.open("held");
	assert.equal(await held.locator(".panel .leak-changes").count(), 0);
});

test("the flame graph of a diff shows both sides of each box, and its change", async (session) => {
	const page = await session.open("diff", { hash: "flame", wait: ".flame-pane" });
	const { changes: all } = session.document("diff");

	await page.getByRole("tree").focus();
	await page.keyboard.press("Home");
	await settled(page);
	assert.equal((await box(page)).value, sum(all, ({ before, after }) => after.live_bytes - before.live_bytes));
	await search(page, "fill_cache");
	await page.getByRole("tree").focus();
	await page.keyboard.press("n");
	await settled(page);
	const { facts } = await box(page);
	assert.deepEqual([number(facts.Before), number(facts.After), number(facts.Change)], [128000, 192000, 64000]);
	await search(page, "");
	assert.match(await page.locator(".legend").textContent(), /\+ grew.*− shrank/);
	assert.ok(await colours(page.locator(".flame-canvases canvas").first()) > 5);
	assert.equal(await page.getByRole("button", { name: "Module" }).count(), 0);
	// More red than blue where it grew, more blue where it shrank: told apart by nearly all eyes.
	const { more, less } = await page.locator(".flame-canvases canvas").first().evaluate((canvas) => {
		const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
		copy.drawImage(canvas, 0, 0);
		const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
		const found = { more: 0, less: 0 };
		for (let at = 0; at < data.length; at += 4) {
			if (data[at] > data[at + 2] + 60) found.more++;
			if (data[at + 2] > data[at] + 60) found.less++;
		}
		return found;
	});
	assert.ok(more > 1000 && less > 1000 && more > less, `${more} ${less}`);
});

test("functions of a diff have the change of their own and of all that they call", async (session) => {
	const page = await session.open("diff", { hash: "functions", ...WIDE });
	const doc = session.document("diff");
	const shown = new Map((await rows(page, "Functions")).map((row) => [row.Function.exact.split("  ")[0], row]));
	const through = (name) => doc.changes.filter(({ frames }) => frames.some((at) => doc.frames[at].function === name));

	for (const name of ["fill_cache", "only_after", "only_before", "lose_one", "main"]) {
		const change = sum(through(name), ({ before, after }) => after.live_bytes - before.live_bytes);
		assert.equal(number(shown.get(name)["With callees"].exact), change, name);
	}
});

test("what is held since a mark is a page of its own", async (session) => {
	const page = await session.open("held", WIDE);
	const doc = session.document("held");

	assert.match(await page.locator(".panel .answer").textContent(),
		new RegExp(`in ${digits(doc.totals.after.live_blocks)} blocks of ${doc.changes.length} call stacks.*allocated since serving, and still alive`));
	await tab(page, "Held");
	const shown = await rows(page, "Changes");
	assert.deepEqual(shown.map((row) => number(row.Held.exact)), doc.changes.map(({ after }) => after.live_bytes).sort((a, b) => b - a));
	assert.equal(sum(shown, (row) => number(row.Held.exact)), doc.totals.after.live_bytes);
	await table(page, "Changes").locator(".grid-row").first().click();
	await page.waitForSelector(".detail");
	for (const view of ["Flame graph", "Functions", /bout/]) await tab(page, view);
});

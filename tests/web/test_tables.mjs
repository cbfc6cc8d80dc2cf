// SPDX-License-Identifier: MIT
// Tables: call stacks, functions, leaks and growth, with the figures of --json.
import assert from "node:assert/strict";
import { test } from "./registry.mjs";
import { readData } from "./rewrite.mjs";
import { choices, choose, count, digits, MEASURES, measure, number, rows, search, settled, tab, table } from "./screen.mjs";
import { blamedFunctions, functions, sum, total, values } from "./truth.mjs";

const WIDE = { viewport: { width: 1700, height: 900 } };
const falling = (list) => [...list].sort((a, b) => b - a);
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

test("the largest call stacks have their values, in each measure", async (session) => {
	const page = await session.open("tour", { hash: "stacks", ...WIDE });
	const doc = session.document("tour");

	for (const name of Object.keys(MEASURES)) {
		await measure(page, name);
		const wanted = falling([...values(doc, name).values()].filter((value) => value > 0));
		const top = (await table(page, "Call stacks").locator(".grid-row").evaluateAll((list) =>
			list.slice(0, 20).map((row) => row.querySelectorAll("[role=gridcell]")[1].title))).map(number);
		assert.deepEqual(top, wanted.slice(0, top.length), name);
		const summary = await page.locator(".panel-stacks .summary").textContent();
		assert.ok(summary.startsWith(`${digits(wanted.length)} call stack`), summary);
		assert.equal(number(await page.locator(".panel-stacks .summary b").last().getAttribute("title")), total(doc, name), name);
	}
});

test("every row of the call stacks has all figures of its context", async (session) => {
	const page = await session.open("tour", { hash: "stacks", ...WIDE });
	const doc = session.document("tour");
	const shown = await rows(page, "Call stacks");
	const key = (...figures) => figures.join(" ");

	assert.equal(shown.length, doc.contexts.filter(({ live_bytes }) => live_bytes > 0).length);
	assert.deepEqual(
		shown.map((row) => key(number(row["Live at exit"].exact), number(row.Blocks.exact), number(row.Peak.exact), number(row.Allocated.exact),
			number(row.Allocs.exact), number(row.Temporary.exact), row.Freed.exact, row.Thread.text, row.Kind.text)).sort(),
		doc.contexts.filter(({ live_bytes }) => live_bytes > 0).map((one) => key(one.live_bytes, one.live_blocks, one.peak_bytes, one.alloc_bytes,
			one.allocs, one.temporary, `${digits(one.frees)} of ${digits(one.allocs)}`, one.thread, one.kind)).sort(),
	);
	for (const row of shown.slice(0, 5)) {
		const context = doc.contexts.find(({ live_bytes }) => live_bytes === number(row["Live at exit"].exact));
		assert.ok(row["Call stack"].text.startsWith(doc.frames[context.frames[0]].function), row["Call stack"].text);
	}
});

test("a row opens to its whole stack and figures, and closes", async (session) => {
	const page = await session.open("tour", { hash: "stacks", ...WIDE });
	const doc = session.document("tour");
	const [largest] = [...doc.contexts].sort((a, b) => b.live_bytes - a.live_bytes);
	const names = () => page.locator(".detail .stack ol li button").allTextContents();
	const row = table(page, "Call stacks").locator(".grid-row").first();

	await row.click();
	await page.waitForSelector(".detail");
	assert.equal(await row.getAttribute("aria-expanded"), "true");
	assert.deepEqual(await names(), ["fill_cache", "main"]);
	assert.match(await page.locator(".detail .stack .place").first().textContent(), new RegExp(`page_tour\\.c:${doc.frames[largest.frames[0]].line}$`));
	await page.getByRole("button", { name: /Whole stack/ }).click();
	assert.deepEqual(await names(), largest.frames.map((at) => doc.frames[at].function));
	const details = await page.locator(".detail .figures").textContent();
	assert.ok(details.includes(`in ${largest.live_blocks}`) && details.includes(largest.kind) && details.includes(largest.thread), details);
	await row.click();
	await settled(page);
	assert.equal(await page.locator(".detail").count(), 0);
});

test("a stack leads to the flame graph, and a frame to its callers and callees", async (session) => {
	const page = await session.open("tour", { hash: "stacks" });

	await table(page, "Call stacks").locator(".grid-row").first().click();
	await page.getByRole("button", { name: "In the flame graph" }).click();
	await page.waitForSelector("#panel-flame:not([hidden])");
	await settled(page);
	assert.equal(await page.locator(".in-focus .tip-name").textContent(), "fill_cache");
	await tab(page, "Stacks");
	await page.waitForSelector(".detail");
	await page.locator(".detail .stack button", { hasText: "main" }).click();
	await page.waitForSelector(".sandwich");
	assert.match(await page.locator(".sandwich-name").textContent(), /^main/);
});

test("headers sort, by mouse and by keyboard, and turn round", async (session) => {
	const page = await session.open("tour", { hash: "stacks", ...WIDE });
	const doc = session.document("tour");
	const head = (name) => table(page, "Call stacks").getByRole("columnheader", { name }).getByRole("button");
	const firsts = async (name) => (await rows(page, "Call stacks", 30)).map((row) => row[name]).slice(0, 30);
	const live = doc.contexts.filter(({ live_bytes }) => live_bytes > 0);

	await head("Allocs").click();
	await settled(page);
	const wanted = falling(live.map(({ allocs }) => allocs));
	assert.deepEqual((await firsts("Allocs")).map(({ exact }) => number(exact)), wanted.slice(0, 30));
	assert.equal(await table(page, "Call stacks").getByRole("columnheader", { name: "Allocs" }).getAttribute("aria-sort"), "descending");
	await head("Allocs").focus();
	await page.keyboard.press("Enter");
	await settled(page);
	assert.deepEqual((await firsts("Allocs")).map(({ exact }) => number(exact)), [...wanted].reverse().slice(0, 30));
	await head("Call stack").click();
	await settled(page);
	const names = (await firsts("Call stack")).map(({ exact }) => exact.split("  ")[0]);
	assert.deepEqual(names, [...names].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
	assert.equal(await table(page, "Call stacks").getByRole("columnheader", { name: "Call stack" }).getAttribute("aria-sort"), "ascending");
});

test("of many rows only those in sight are in the page, and keys reach all of them", async (session) => {
	const page = await session.open("tour", { hash: "stacks" });
	const grid = table(page, "Call stacks");
	const count = session.document("tour").contexts.filter(({ live_bytes }) => live_bytes > 0).length;
	const active = async () => {
		await settled(page);
		return Number(await grid.locator(".grid-row.active").getAttribute("aria-rowindex"));
	};

	assert.equal(Number(await grid.getAttribute("aria-rowcount")), count + 1);
	assert.ok(await grid.locator(".grid-row").count() < 80);
	await grid.focus();
	await page.keyboard.press("End");
	assert.equal(await active(), count + 1);
	assert.ok(await grid.locator(".grid-row").count() < 80);
	await page.keyboard.press("Home");
	assert.equal(await active(), 2);
	await page.keyboard.press("ArrowDown");
	assert.equal(await active(), 3);
	await page.keyboard.press("PageDown");
	const page_ = await active();
	assert.ok(page_ > 10, `${page_}`);
	await page.keyboard.press("PageUp");
	assert.equal(await active(), 3);
	await page.keyboard.press("ArrowUp");
	assert.equal(await active(), 2);
	await page.keyboard.press("Enter");
	await page.waitForSelector(".detail");
	await page.keyboard.press("ArrowLeft");
	await settled(page);
	assert.equal(await page.locator(".detail").count(), 0);
	await page.keyboard.press("ArrowRight");
	await page.waitForSelector(".detail");
	await page.keyboard.press("End");
	assert.equal(await active(), count + 1, "with a row open");
});

test("a call stack is copied by a key and by a button", async (session) => {
	const page = await session.open("tour", { hash: "stacks" });

	await table(page, "Call stacks").focus();
	await page.keyboard.press("c");
	await settled(page);
	const copied = await clipboard(page);
	assert.match(copied, /fill_cache.*page_tour\.c:\d+[^]*main.*page_tour\.c:\d+[^]*_start/);
	await page.evaluate(() => navigator.clipboard.writeText(""));
	await page.keyboard.press("Enter");
	await page.getByRole("button", { name: "Copy stack" }).click();
	await page.getByRole("button", { name: "Copied" }).waitFor();
	assert.equal(await clipboard(page), copied);
});

test("functions have their own bytes and those of all that they call, in each measure", async (session) => {
	const page = await session.open("tour", { hash: "functions", ...WIDE });
	const doc = session.document("tour");
	const data = readData(session.path("tour"));

	for (const chosen of ["live", "allocated", "temporary"]) {
		await measure(page, chosen);
		const shown = new Map((await rows(page, "Functions")).map((row) => [row.Function.exact.split("  ")[0], row]));
		const wanted = blamedFunctions(data, chosen);
		assert.equal(sum([...wanted.values()], ({ own }) => own), total(doc, chosen));
		assert.equal(shown.size, wanted.size, chosen);
		for (const [name, { own, inclusive, stacks }] of wanted) {
			const row = shown.get(name);
			assert.ok(row, `${chosen}: ${name} is missing`);
			assert.deepEqual([number(row.Own.exact), number(row["With callees"].exact), number(row.Stacks.text)], [own, inclusive, stacks], `${chosen}: ${name}`);
		}
	}
});

test("a function opens to its lines, and leads to its stacks and callers", async (session) => {
	const page = await session.open("tour", { hash: "functions", ...WIDE });
	const doc = session.document("tour");

	await search(page, "new_item");
	assert.match(await page.locator(".panel-functions .summary").textContent(), /^1 function by live at exit/);
	await table(page, "Functions").locator(".grid-row").first().click();
	await page.waitForSelector(".detail table");
	const [line] = await page.locator(".detail tbody tr").evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.title || cell.textContent)));
	assert.equal(number(line[1]), functions(doc, "live").get("new_item").own);
	await page.getByRole("button", { name: "Its call stacks" }).click();
	await page.waitForSelector(".panel-stacks");
	await settled(page);
	assert.equal((await rows(page, "Call stacks")).length,
		doc.contexts.filter((one) => one.live_bytes && one.frames.some((at) => doc.frames[at].function === "new_item")).length);
});

test("leaks have their verdicts, bytes and what is lost with them", async (session) => {
	const page = await session.open("tour", { hash: "leaks", ...WIDE });
	const { leaks } = session.document("tour");
	const figures = (row) => [row.Verdict.text.replace(/^\W+/, ""), number(row["Bytes in all"].exact), number(row.Own.exact), number(row.Blocks.text), number(row["With it"].exact)].join(" ");
	const wanted = (list) => list.map((one) => [one.verdict, one.bytes + one.with_bytes, one.bytes, one.blocks, one.with_bytes].join(" ")).sort();
	const roots = leaks.filter(({ verdict, root }) => root === null && /^LOST/.test(verdict));

	assert.deepEqual((await rows(page, "Verdicts of the leak check")).map(figures).sort(), wanted(roots));
	for (const verdict of new Set(leaks.map((leak) => leak.verdict))) {
		const of = leaks.filter((leak) => leak.verdict === verdict);
		const button = page.locator(".panel-leaks .choices button").filter({ has: page.locator(`.verdict:text-matches("^\\\\W*${verdict}$")`) });
		assert.match(await button.textContent(), new RegExp(`${verdict} ${of.length} · `));
		await button.click();
		await settled(page);
		assert.deepEqual((await rows(page, "Verdicts of the leak check")).map(figures).sort(), wanted(of), verdict);
	}
	await page.getByRole("button", { name: "Everything" }).click();
	await settled(page);
	assert.deepEqual((await rows(page, "Verdicts of the leak check")).map(figures).sort(), wanted(leaks));
});

test("a leak opens to its evidence, its blocks and what is lost with it", async (session) => {
	const page = await session.open("tour", { hash: "leaks", ...WIDE });
	const { leaks } = session.document("tour");
	const list = leaks.find(({ with_blocks, verdict }) => with_blocks > 0 && verdict === "LOST");

	await table(page, "Verdicts of the leak check").locator(".grid-row", { hasText: "lose_list" }).click();
	await page.waitForSelector(".detail .why");
	const why = await page.locator(".detail .why").textContent();
	assert.match(why, /No pointer leads to it/);
	assert.match(why, new RegExp(`${digits(list.blocks)} block, and .* in ${list.with_blocks} blocks with it`));
	assert.match(why, /Lost with it.*in 9.*new_item/);
	assert.match(why, /allocated between [\d.]+ ms and [\d.]+ s after the start/);
	await page.locator(".detail .why summary").click();
	const blocks = await page.locator(".detail .blocks li").allTextContents();
	assert.deepEqual(blocks.map((text) => /0x[0-9a-f]+/.exec(text)[0]), list.block_list.map(({ address }) => `0x${address.toString(16)}`));
});

test("how the leak check was made is told", async (session) => {
	const page = await session.open("tour", { hash: "leaks" });
	const { scan } = session.document("tour");
	const notes = page.locator(".panel-leaks .notes");

	assert.match(await notes.locator("summary").textContent(), new RegExp(`${digits(scan.blocks)} live blocks?, .* looked through in .*stood still`));
	if ((await notes.getAttribute("open")) === null) await notes.locator("summary").click();
	assert.equal(await notes.locator("li").count(), scan.caveats.length + scan.skipped.length + scan.suppressions.length);
});

test("what grew is listed with its rate and evidence", async (session) => {
	const page = await session.open("tour", { hash: "growth", ...WIDE });
	const grown = session.document("tour").contexts.filter(({ growth }) => growth?.verdict);
	const shown = await rows(page, "What grew");

	assert.equal(shown.length, grown.length);
	assert.ok(grown.length >= 1);
	assert.deepEqual(falling(shown.map((row) => number(row["Grew by"].exact))), falling(grown.map(({ growth }) => growth.bytes)));
	assert.match(shown[0]["Call stack"].text, /^remember/);
	assert.equal(shown[0].Confidence.text, grown[0].growth.confidence);
	await table(page, "What grew").locator(".grid-row").first().click();
	await page.waitForSelector(".detail");
	assert.ok((await page.locator(".detail").textContent()).includes(grown[0].growth.evidence));
});

test("filters by thread and by module keep what they say, in every view", async (session) => {
	const page = await session.open("tour", { hash: "stacks", ...WIDE });
	const doc = session.document("tour");
	const live = (keep) => falling(doc.contexts.filter((one) => one.live_bytes && keep(one)).map((one) => one.live_bytes));
	const check = async (wanted) => {
		assert.equal(await count(page, "Call stacks"), wanted.length);
		const shown = (await rows(page, "Call stacks", 20)).map((row) => number(row["Live at exit"].exact));
		assert.deepEqual(shown, wanted.slice(0, shown.length));
	};
	// From main, or a thread's function, inwards.
	const inside = ({ frames }) => {
		const names = frames.map((at) => doc.frames[at].function);
		const outermost = names.findIndex((name) => name === "main" || name === "work");
		return outermost < 0 ? frames : frames.slice(0, outermost + 1);
	};

	for (const thread of new Set(doc.contexts.map((one) => one.thread))) {
		await choose(page, "Thread", thread);
		await check(live((one) => one.thread === thread));
		await page.locator(".chip", { hasText: `Thread ${thread}` }).click();
		await settled(page);
	}
	const path = doc.modules.findIndex((one) => /page_tour$/.test(one.path));
	await choose(page, "Module", { label: "page_tour" });
	await check(live((one) => inside(one).some((at) => doc.frames[at].module === path)));
	await choose(page, "Thread", "worker-1");
	const both = live((one) => one.thread === "worker-1" && inside(one).some((at) => doc.frames[at].module === path));
	await check(both);
	assert.equal(await page.locator(".chip").count(), 2);
	await tab(page, "Flame graph");
	assert.match(await page.getByRole("tree").getAttribute("aria-label"), /30\.0 KB/);
	assert.equal(sum(both, (value) => value), 30720);
	await choose(page, "Thread", "worker-2");
	assert.match(await page.locator("#panel-flame").textContent(), /Nothing to draw: no call stack passes the filters/);
	await choose(page, "Thread", "");
	await choose(page, "Module", "");
	assert.equal(await choices(page, "Thread").inputValue(), "");
	await tab(page, "Stacks");
	await check(live(() => true));
});

test("a search keeps the rows that it meets in every table", async (session) => {
	const page = await session.open("tour", { hash: "stacks", ...WIDE });
	const doc = session.document("tour");
	const meets = (pattern) => ({ frames }) => frames.some((at) => pattern.test(doc.frames[at].function));
	const live = doc.contexts.filter((one) => one.live_bytes);

	for (const [text, pattern] of [["lose_", /lose_/], ["/^left_[12]$/", /^left_[12]$/], ["REMEMBER", /remember/]]) {
		await search(page, text);
		const count = live.filter(meets(pattern)).length;
		assert.equal(Number(await table(page, "Call stacks").getAttribute("aria-rowcount")), count + 1, text);
		assert.match(await page.locator(".panel-stacks .summary").textContent(), new RegExp(`^${count} call stacks? of ${doc.contexts.length}`));
	}
	await tab(page, "Growth");
	assert.equal((await rows(page, "What grew")).length, 1);
	await tab(page, "Leaks");
	assert.equal((await rows(page, "Verdicts of the leak check")).length, 0);
	await search(page, "lose_cycle");
	assert.equal((await rows(page, "Verdicts of the leak check")).length, 1);
	await tab(page, "Functions");
	assert.equal((await rows(page, "Functions")).length, 1);
	await search(page, "/lose_(one|list)/");
	assert.equal((await rows(page, "Functions")).length, 2, "a regular expression");
});

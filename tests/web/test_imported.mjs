// SPDX-License-Identifier: MIT
// Profiles of other tools: what they do not say is not known, and never 0.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "./registry.mjs";
import { readData, writeData } from "./rewrite.mjs";
import { choices, facts, number, rows, settled, tab, table } from "./screen.mjs";

const LIVE = "Live when last seen";
const UNKNOWN = "not known";
/** Room for all columns. */
const WIDE = { width: 1900, height: 800 };

const totals = (page) => facts(page.locator("#panel-overview dl.totals"));
const measures = (page) => page.getByRole("group", { name: "Measure" }).getByRole("button").allTextContents();
const about = async (page) => {
	await tab(page, "about");
	return facts(page.locator(".about dl.figures"));
};

/** No view of the page has a figure of the process. */
async function saysNothingOfTheProcess(page) {
	for (const name of ["Overview", "Flame graph", "Timeline", "Stacks", "Functions", "Leaks", "Growth", "about"]) {
		await tab(page, name);
		const text = await page.locator("body").innerText();
		assert.doesNotMatch(text, /pid \d|Process \d|parent \d|\b0 ns\b|\b0 threads|withheld|at exit|seep's own memory\s*0/i, name);
	}
}

test("of a profile of one moment the overview gives what is live, and says of the rest that it is not known", async (session) => {
	const page = await session.open("moment");
	const { totals: known } = session.document("moment");

	assert.deepEqual(await totals(page), {
		[LIVE]: `${known.live_bytes.toLocaleString("en")} bytes`, Peak: UNKNOWN, Allocations: UNKNOWN, Temporary: UNKNOWN,
		"Resident peak": UNKNOWN, Overhead: UNKNOWN,
	});
	const list = page.locator("#panel-overview dl.totals");
	assert.equal(await list.locator("dd .muted", { hasText: UNKNOWN }).count(), 5);
	assert.equal((await list.innerText()).match(/\d[\d,.]*/g).length, 2, "more than bytes and blocks");
	assert.equal(await page.locator(".head .facts").textContent(), "imported");
	assert.match(await page.locator("#panel-overview .answer h2").textContent(), /^Start at .* of the bytes live when last seen$/);
	assert.match(await page.locator("#panel-overview .answer .second").textContent(), /Not scanned for leaks: the profile was imported/);
	assert.match(await page.locator("#panel-overview .grows").textContent(), /^Growth was not judged: the profile was imported$/);
	assert.match(await page.locator("#panel-overview .largest h2").textContent(), /by bytes live when last seen$/);
});

test("tables and measures of a profile of one moment have what is known of it", async (session) => {
	const page = await session.open("moment", { hash: "stacks", viewport: WIDE });
	const { contexts } = session.document("moment");

	assert.deepEqual(await measures(page), [], "there is one measure only");
	const [row] = await rows(page, "Call stacks");
	assert.deepEqual(Object.keys(row), ["Call stack", "Live", "Share", "Blocks", "Kind"]);
	assert.equal(number(row.Live.exact), contexts[0].live_bytes);
	const title = await table(page, "Call stacks").getByRole("columnheader", { name: "Live" }).getByRole("button").getAttribute("title");
	assert.equal(title, LIVE);
	await table(page, "Call stacks").locator(".grid-row").first().click();
	assert.deepEqual(Object.keys(await facts(page.locator(".detail dl.figures"))), ["Live", "Allocated by"]);
});

test("tabs of what nobody looked for have no count, and the views say so", async (session) => {
	for (const name of ["moment", "track", "brought"]) {
		const page = await session.open(name);
		const tabs = await page.getByRole("tab").allTextContents();
		assert.ok(tabs.includes("Leaks") && tabs.includes("Growth"), `${name}: ${tabs}`);
		await tab(page, "Growth");
		assert.equal((await page.locator("#panel-growth").innerText()).trim(), "Growth was not judged: the profile was imported");
		await tab(page, "Leaks");
		assert.match((await page.locator("#panel-leaks").innerText()).trim(), /^\? Not scanned for leaks: the profile was imported$/);
		await saysNothingOfTheProcess(page);
	}
});

test("a profile of one moment has neither process nor counters of a recording", async (session) => {
	const page = await session.open("moment");
	const shown = await about(page);
	const unknown = ["Program", "Command", "Folder", "Process", "Started", "Ran for", "Ended", "Allocator"];

	assert.deepEqual(Object.keys(shown), [...unknown, "Written by"]);
	for (const name of unknown) assert.equal(shown[name], UNKNOWN, name);
	await tab(page, "Timeline");
	assert.match(await page.locator("#panel-timeline").innerText(), /no timeline: the profile was imported/);
});

test("what heaptrack and an exported recording know is shown, with the document's figures", async (session) => {
	for (const name of ["track", "brought"]) {
		const page = await session.open(name, { viewport: WIDE });
		const { totals: known, process } = session.document(name);
		const shown = await totals(page);
		assert.equal(number(shown[LIVE]), known.live_bytes);
		assert.equal(number(shown.Peak), known.peak_bytes);
		assert.equal(number(shown.Allocations), known.allocs);
		assert.match(shown.Temporary, /%$/);
		assert.equal(shown.Overhead, UNKNOWN);
		if (process.peak_rss_bytes === null) assert.equal(shown["Resident peak"], UNKNOWN);
		else assert.equal(number(shown["Resident peak"]), process.peak_rss_bytes);
		await tab(page, "Stacks");
		assert.deepEqual(await measures(page), [LIVE, "Peak", "Allocated", "Temporary"]);
		assert.ok("Freed" in (await rows(page, "Call stacks", 1))[0]);
		const rest = await about(page);
		assert.equal(rest.Program, process.exe);
		assert.notEqual(rest["Ran for"], UNKNOWN);
		assert.equal(rest.Process, UNKNOWN);
	}
});

test("of a profile that does not say what is live the page shows what was allocated", async (session) => {
	const data = readData(session.path("brought"));
	const { document } = data;
	for (const key of ["frees", "freed_bytes", "live_blocks", "live_bytes", "peak_bytes", "temporary"]) {
		document.totals[key] = null;
		document.contexts[key] = document.contexts[key].map(() => 0);
	}
	document.unseen.push({ code: "no-live", detail: "what is live is not known" }, { code: "one-moment", detail: "nor the peak" });
	const page = await session.open(writeData(session.path("brought"), join(session.scratch, "no-live.html"), data));

	const shown = await totals(page);
	assert.deepEqual([shown[LIVE], shown.Peak, shown.Temporary], [UNKNOWN, UNKNOWN, UNKNOWN]);
	assert.equal(number(shown.Allocations), document.totals.allocs);
	assert.match(await page.locator("#panel-overview .largest h2").textContent(), /by bytes allocated$/);
	assert.ok(await page.locator("#panel-overview .largest tbody tr").count() > 0);
	await tab(page, "Stacks");
	assert.deepEqual(Object.keys((await rows(page, "Call stacks", 1))[0]).slice(0, 4), ["Call stack", "Allocated", "Share", "Allocs"]);
	await tab(page, "Timeline");
	assert.equal(await table(page, "What still lives").count(), 0);
});

test("a narrow screen shows an imported profile without scrolling sideways", async (session) => {
	const page = await session.open("track", { viewport: { width: 360, height: 700 } });

	for (const name of ["Overview", "Stacks", "Growth", "Leaks", "about"]) {
		await tab(page, name);
		assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, name);
	}
	await tab(page, "Stacks");
	assert.deepEqual(await choices(page, "Measure").locator("option").allTextContents(), [LIVE, "Peak", "Allocated", "Temporary"]);
	await settled(page);
});

test("what was live when a signal ended the process is not called live at exit", async (session) => {
	const page = await session.open("killed");

	assert.equal(session.document("killed").process.ended, "signal");
	assert.equal(number((await totals(page))["Live when it died"]), session.document("killed").totals.live_bytes);
	await tab(page, "Stacks");
	assert.equal((await measures(page))[0], "Live when it died");
});

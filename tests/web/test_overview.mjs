// SPDX-License-Identifier: MIT
// The first view: the answer, and figures that are those of --json.
import assert from "node:assert/strict";
import { join } from "node:path";
import { contextsOf, readData, writeData } from "./rewrite.mjs";
import { test } from "./registry.mjs";
import { digits, facts, number, rows, settled, tab } from "./screen.mjs";
import { sum, total } from "./truth.mjs";

test("the overview answers whether there is a leak, where, how much and since when", async (session) => {
	const page = await session.open("tour");
	const { leaks } = session.document("tour");
	const roots = leaks.filter(({ verdict, root }) => root === null && /^LOST/.test(verdict));
	const answer = page.locator(".panel .answer").first();
	const places = answer.locator("li.finding");

	assert.match(await answer.locator("h2").textContent(), new RegExp(`${roots.length} leaks: .* lost`));
	assert.equal(await places.count(), 3);
	const largest = [...roots].sort((a, b) => b.bytes + b.with_bytes - a.bytes - a.with_bytes)[0];
	assert.equal(number(await places.first().locator(".amount b").getAttribute("title")), largest.bytes + largest.with_bytes);
	const text = await places.first().textContent();
	assert.match(text, /lose_one/);
	assert.match(text, /page_tour\.c:\d+/);
	assert.match(text, /5 blocks/);
	assert.match(text, /allocated between [\d.]+ ms and [\d.]+ s after the start/);
});

test("the totals of the overview are those of the document", async (session) => {
	const page = await session.open("tour");
	const { totals, process } = session.document("tour");
	const shown = await facts(page.locator(".panel dl.totals"));

	assert.equal(number(shown["Live at exit"]), totals.live_bytes);
	assert.equal(number(shown.Peak), totals.peak_bytes);
	assert.equal(number(shown.Allocations), totals.allocs);
	assert.equal(number(shown["Resident peak"]), process.peak_rss_bytes);
	assert.equal(number(shown.Overhead), Math.max(0, totals.usable_bytes - totals.live_bytes));
	assert.equal(shown.Temporary, `${Math.round((totals.temporary * 1000) / totals.allocs) / 10}%`);
	assert.match(await page.locator(".panel dl.totals").textContent(), new RegExp(`${digits(totals.live_blocks)} blocks`));
});

test("the overview lists the largest call stacks, and opens the one that is clicked", async (session) => {
	const page = await session.open("tour");
	const doc = session.document("tour");
	const largest = [...doc.contexts].sort((a, b) => b.live_bytes - a.live_bytes);
	const first = page.locator(".panel .largest tbody tr").first();

	assert.equal(number(await first.locator("td").first().getAttribute("title")), largest[0].live_bytes);
	assert.match(await first.textContent(), /fill_cache/);
	await first.locator("button").click();
	await page.waitForSelector(".panel-stacks .detail");
	assert.equal(await page.getByRole("tab", { name: "Stacks" }).getAttribute("aria-selected"), "true");
	assert.match(await page.locator(".panel-stacks .detail .stack").textContent(), /fill_cache.*main/);
});

test("each of the overview's links leads to its view", async (session) => {
	const page = await session.open("tour");

	for (const [link, panel] of [["Evidence and stacks", "leaks"], ["Timeline", "timeline"], ["call stacks", "stacks"], ["All of them", "processes"]]) {
		await tab(page, "Overview");
		await page.locator(".panel button.more", { hasText: link }).first().click();
		await page.waitForSelector(`#panel-${panel}:not([hidden])`);
	}
});

test("the tabs are the views of a report, each of which opens", async (session) => {
	const page = await session.open("tour");
	const names = await page.getByRole("tab").evaluateAll((tabs) => tabs.map((one) => one.firstChild.textContent));

	assert.deepEqual(names.slice(0, 8), ["Overview", "Flame graph", "Timeline", "Stacks", "Functions", "Leaks", "Growth", "Processes"]);
	assert.match(names[8], /^(Not seen, about|About)$/);
	assert.equal(names.length, 9);
	for (const name of names) {
		await tab(page, name);
		const panel = page.locator("[role=tabpanel]:not([hidden])");
		assert.equal(await panel.count(), 1);
		assert.ok((await panel.innerText()).trim().length > 40, `${name} is empty`);
		// The first view needs no name.
		assert.equal(new URL(page.url()).hash.slice(1) || "overview", (await panel.getAttribute("id")).replace("panel-", ""));
	}
	await page.goBack();
	await page.waitForSelector("#panel-processes:not([hidden])");
	assert.equal(await page.getByRole("tab", { selected: true }).evaluate((one) => one.firstChild.textContent), names[7]);
	assert.equal(await page.title(), "page_tour – seep");
});

test("a report of a program without leaks says so", async (session) => {
	const page = await session.open("clean");

	assert.match(await page.locator(".panel .answer h2").textContent(), /no leak|Nothing is lost|nothing/i);
	assert.equal(await page.locator(".panel .answer.none").count(), 1);
	await tab(page, "Leaks");
	await page.getByRole("button", { name: /^Leaks/ }).click();
	assert.match(await page.locator("#panel-leaks").textContent(), /Leaks 0.*No verdict matches/);
});

test("what nobody looked for is not called nothing", async (session) => {
	const page = await session.open("unlooked");
	const why = "Not scanned for leaks: no leak check was made when it was recorded";
	const growth = /^Growth was not judged: process \d+ was not watched for --growth-after, or not at all$/;

	assert.equal(session.document("unlooked").process.growth_after_ns, null);
	assert.match(await page.locator("#panel-overview .answer.unknown h2").innerText(), /^Start at .* of the bytes live at exit$/);
	assert.equal(await page.locator("#panel-overview .answer.unknown .second").innerText(), `?${why}`);
	assert.match(await page.locator("#panel-overview .grows").textContent(), growth);
	const tabs = await page.getByRole("tab").allTextContents();
	assert.ok(tabs.includes("Leaks") && tabs.includes("Growth"), `${tabs}`);
	await tab(page, "Leaks");
	assert.equal((await page.locator("#panel-leaks").innerText()).trim(), `? ${why}`);
	await tab(page, "Growth");
	assert.match((await page.locator("#panel-growth").innerText()).trim(), growth);
});

test("that nothing grew is said where growth was judged", async (session) => {
	const page = await session.open("judged");

	assert.ok((await page.getByRole("tab").allTextContents()).includes("Growth0"));
	assert.equal(session.document("judged").process.growth_after_ns, 400_000_000);
	assert.equal(await page.locator("#panel-overview .grows").textContent(), "No call stack grew for 400 ms");
	await tab(page, "Growth");
	assert.match(await page.locator("#panel-growth").innerText(), /^No call stack grew for 400 ms/);
});

test("the view about the recording has its figures, modules and what was not seen", async (session) => {
	const page = await session.open("tour", { hash: "about" });
	const doc = session.document("tour");
	const shown = await page.locator(".about .figures").first().evaluate((list) => Object.fromEntries(
		[...list.querySelectorAll("div")].map((row) => [row.querySelector("dt").textContent, row.querySelector("dd").textContent])));

	assert.equal(shown.Program, doc.process.exe);
	assert.equal(shown.Command, doc.process.argv.join(" "));
	assert.equal(shown.Ended, "exited with status 0");
	assert.equal(shown["Stack walks"], `${digits(doc.totals.walks)}, ${digits(doc.totals.walks_truncated)} cut short`);
	const sizes = await page.locator(".histogram tbody tr").evaluateAll((list) => list.map((row) => row.cells[1].title));
	assert.deepEqual(sizes.map(number), doc.totals.size_histogram.map(({ allocs }) => allocs));
	for (const { detail } of doc.unseen) assert.ok((await page.locator(".about").textContent()).includes(detail));
	await page.locator(".about summary").click();
	assert.equal(await page.locator(".modules li").count(), doc.modules.length);
});

test("the view of processes lists the others of the run with their figures", async (session) => {
	const page = await session.open("tour", { hash: "processes" });
	const { others } = session.document("tour").run;
	const shown = await rows(page, "Other processes of the run");

	assert.equal(shown.length, others.length);
	assert.equal(number(shown[0].Process.text), others[0].pid);
	assert.equal(number(shown[0]["Live at exit"].exact), others[0].live_bytes);
	assert.equal(number(shown[0].Peak.exact), others[0].peak_bytes);
	assert.equal(number(shown[0].Allocated.exact), others[0].alloc_bytes);
	assert.equal(number(shown[0].Allocs.exact), others[0].allocs);
});

test("threads and ages on the overview come to what lives", async (session) => {
	const page = await session.open("tour");
	const doc = session.document("tour");
	const bars = (title) => page.locator(".panel .bars", { hasText: title }).locator(".num")
		.evaluateAll((list) => list.map((one) => one.title));

	const threads = (await bars("Threads, by bytes live")).map(number);
	assert.equal(sum(threads, (bytes) => bytes), total(doc, "live"));
	const ages = (await bars("When what lives was allocated")).map(number);
	assert.equal(sum(ages, (bytes) => bytes), total(doc, "live"));
});

test("the first view needs no scrolling to answer", async (session) => {
	const page = await session.open("tour");

	for (const card of [".answer", ".grows", "dl.totals"]) {
		const { y, height } = await page.locator(`#panel-overview ${card}`).boundingBox();
		assert.ok(y >= 0 && y + height <= 800, `${card}: ${y} + ${height}`);
	}
	const growth = await page.locator("#panel-overview .grows").innerText();
	assert.match(growth, /1 call stack grew by [\d.]+ KB at \+.*remember.*page_tour\.c:\d+.*since .* after the start.*thread worker-1/s);
});

test("a leak of the overview leads to its evidence, and on to the flame graph", async (session) => {
	const page = await session.open("tour");

	await page.locator("#panel-overview .answer .finding .link").first().click();
	const detail = page.locator("#panel-leaks .grid-detail");
	await detail.waitFor();
	assert.match(await detail.innerText(), /lose_one.*page_tour\.c:\d+.*No pointer leads to it/s);
	await detail.getByRole("button", { name: "In the flame graph" }).click();
	await page.waitForSelector("#panel-flame:not([hidden])");
	await settled(page);
	assert.match(await page.locator(".in-focus").innerText(), /^lose_one/);
});

test("wrong frees and accesses come first, with their stacks", async (session) => {
	const data = readData(session.path("tour"));
	const [here, block] = contextsOf(data).filter(({ frames }) => frames.length > 2);
	const finding = {
		kind: "mismatched-free", text: "mismatched-free, 3 times: memory from new[] was freed by <b>delete", hash: "00000000000000ab", count: 3,
		thread: "worker", at_ns: data.document.process.start_ns + 2e9, suppressed_by: null, here_frames: here.frames, free_frames: null, alloc_frames: block.frames,
	};

	data.document.lead.sentences.unshift("1 heap error: 1 mismatched-free");
	data.document.findings = [{ ...finding, text: "of a rule", suppressed_by: "misuse:x", here_frames: null, alloc_frames: [1e9, "x"] }, finding];
	const page = await session.open(writeData(session.path("tour"), join(session.scratch, "misuse.html"), data));
	const card = page.locator(".panel .misuse");

	assert.ok(await card.evaluate((one) => one.nextElementSibling.classList.contains("answer")));
	assert.equal(await card.locator("h2").innerText(), "Heap errors 1");
	assert.match(await page.locator(".panel .answer h2").innerText(), /3 leaks: .* lost/);
	const first = card.locator("ol > li").first();
	assert.match(await first.innerText(), /^mismatched-free, 3 times: .* by <b>delete\n+thread worker · first 2\.0 s after the start · hash:00000000000000ab/);
	await first.locator("summary").click();
	assert.deepEqual(await first.locator("h3").allInnerTexts(), ["Where", "Allocated"]);
	assert.equal(await first.locator(".stack").count(), 2);
	assert.match(await card.innerText(), /suppressed by misuse:x/);
	if (process.env.SEEP_PICTURES) await session.picture(`${process.env.SEEP_PICTURES}/misuse.png`);
});

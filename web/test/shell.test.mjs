// SPDX-License-Identifier: MIT
// The built page in a real browser: first view, tabs, tables, brush, filters, keys, paper, narrow
// screens, and files that are damaged. No test may leave a message in the console or ask for anything.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closeBrowser, fill, keys, openBrowser, state, template, visit } from "./browse.mjs";
import { pageOf } from "./load.mjs";

before(openBrowser);
after(closeBrowser);

const HOSTILE = "</script><img src=x onerror=alert(1)>\u202ered\u001b[31m";
const S = 1e9;

const frame = (name, line) => ({ function: name, file: "/src/shop.cc", line, module: 0, offset: line, exact: false, inlined: false });
const FRAMES = [frame("main", 10), frame("serve()", 20), frame("open_session(int)", 30), frame("upload()", 40), frame(HOSTILE, 50)];

/** A run of 10 s with three epochs, two threads, a leak, and a call stack that grows. */
function shop() {
	const row = (stack, live, blocks, epochs, others = {}) => ({
		stack, first_ms: 100, live_bytes: live, live_blocks: blocks, peak_bytes: live, peak_blocks: blocks, allocs: 2 * blocks,
		alloc_bytes: 2 * live, frees: blocks, freed_bytes: live, temporary: 1,
		others: { thread: "worker-1", epochs: epochs.map((bytes, epoch) => ({ epoch, blocks: Math.ceil(bytes / 1024), bytes })), ...others },
	});
	const rows = [
		row([0, 1, 2], 6 * 1024 * 1024, 600, [1024 * 1024, 2 * 1024 * 1024, 3 * 1024 * 1024], {
			growth: { verdict: "GROWING", confidence: "high", bytes: 6 * 1024 * 1024, bytes_per_s: 600000, freed_share: 0, since_ns: 1000 + S, until_ns: 1000 + 9 * S, returned: false, stale_blocks: 0, freed_late: 0, evidence: "+36.0 MB/min for 8.0 s" },
		}),
		row([0, 1, 3], 81920, 10, [0, 81920, 0], { thread: "worker-2" }),
		row([0, 4], 2048, 2, [2048, 0, 0]),
	];
	const live = rows.reduce((sum, one) => sum + one.live_bytes, 0);
	const page = pageOf(rows, FRAMES, {
		leaks: [{ verdict: "LOST", flags: [], context: 2, root: null, blocks: 10, bytes: 81920, with_blocks: 0, with_bytes: 0, rule: null, evidence: null, chain: [], block_list: [{ address: 4096, size: 8192, bytes_hex: null }], frames: [] }],
		totals: { live_bytes: live, live_blocks: 612, peak_bytes: 2 * live, peak_at_ns: 1000 + 5 * S, peak_exact: true, allocs: 1224, alloc_bytes: 2 * live, temporary: 3, threads: 3, usable_bytes: live + 1000 },
		process: { pid: 42, exe: "/usr/bin/shop", cwd: "/src", argv: ["shop", HOSTILE], start_ns: 1000, end_ns: 1000 + 10 * S, start_realtime_ns: 1.7e18, ended: "exit", status: { code: 0 } },
		marks: [{ name: "warm", epoch: 1, at_ns: 1000 + 2 * S, exact: true }, { name: null, epoch: 2, at_ns: 1000 + 6 * S, exact: true }],
		timeline: Array.from({ length: 50 }, (_, i) => ({ at_ns: 1000 + (i * S) / 5, live_bytes: (live * i) / 50, rss_bytes: live + i, allocs: 24 * i, frees: 12 * i })),
		scan: { method: "stopped", why_not: null, pause_ns: 1, mark_ns: 1, marked_bytes: 1, blocks: 612, skipped: [], caveats: [], suppressions: [] },
	});
	page.view.answer = "1 leak: 80.0 KB in 10 blocks lost";
	page.view.head = ["shop (pid 42)", HOSTILE];
	return page;
}

const sees = (page, selector, text) => page.locator(selector, { hasText: text }).first().waitFor();
const panel = ".panel:not([hidden])";

test("the first view says what leaks, where, how much and since when, without scrolling", () =>
	visit(fill(shop()), async (page) => {
		const answer = page.locator("#panel-overview .card.answer");
		const text = await answer.innerText();
		for (const part of ["1 leak: 80.0 KB in 10 blocks lost", "upload", "shop.cc:40", "80.0 KB", "LOST", "between 2.0 s and 6.0 s after the start"])
			assert.ok(text.includes(part), `${part} in ${text}`);
		const growth = await page.locator("#panel-overview .grows").innerText();
		for (const part of ["1 call stack grew by 6.0 MB", "open_session", "since 1.0 s after the start"]) assert.ok(growth.includes(part), `${part} in ${growth}`);
		for (const card of [answer, page.locator("#panel-overview .grows"), page.locator("#panel-overview dl.totals")]) {
			const box = await card.boundingBox();
			assert.ok(box.y >= 0 && box.y + box.height <= 800);
		}
		assert.equal(await page.title(), "shop – seep");
	}));

test("hostile names stay text", () =>
	visit(fill(shop()), async (page) => {
		for (const tab of ["stacks", "functions", "timeline", "flame", "about"]) {
			await page.click(`#tab-${tab}`);
			await page.waitForSelector(`#panel-${tab}:not([hidden])`);
			assert.equal(await page.locator("img").count(), 0);
		}
		await sees(page, "#panel-about", "onerror=alert(1)>\\u{202e}red\\u{1b}[31m");
	}));

test("every view opens by click, by its number and by the arrows of the tabs", () =>
	visit(fill(shop()), async (page) => {
		const tabs = await page.$$eval("[role=tab]", (all) => all.map((tab) => tab.id.slice(4)));
		assert.deepEqual(tabs, ["overview", "flame", "timeline", "stacks", "functions", "leaks", "growth", "about"]);
		for (const [i, tab] of tabs.entries()) {
			await page.click(`#tab-${tab}`);
			await page.waitForSelector(`#panel-${tab}:not([hidden])`);
			await keys(page, `${((i + 3) % tabs.length) + 1}`);
			await page.waitForSelector(`#panel-${tabs[(i + 3) % tabs.length]}:not([hidden])`);
		}
		await page.focus("#tab-overview, [role=tab][aria-selected=true]");
		await keys(page, "Home", "ArrowRight", "ArrowRight");
		await page.waitForSelector("#panel-timeline:not([hidden])");
		await keys(page, "End");
		await page.waitForSelector("#panel-about:not([hidden])");
		await page.goBack();
		await page.waitForSelector("#panel-timeline:not([hidden])");
	}));

test("tables sort, open, filter and copy without a mouse", () =>
	visit(fill(shop()), async (page) => {
		await page.click("#tab-stacks");
		const names = () => page.$$eval(`${panel} .grid-row b`, (all) => all.map((one) => one.textContent).filter((text) => !/^[\d.]+ /.test(text)));
		assert.deepEqual((await names())[0], "open_session(int)");
		await page.focus(`${panel} [role=columnheader]:has-text("Allocs") button`);
		await keys(page, "Enter", "Enter");
		await page.waitForSelector(`${panel} [role=columnheader][aria-sort=ascending]:has-text("Allocs")`);
		assert.equal((await names()).at(-1), "open_session(int)");
		await page.focus(`${panel} .grid`);
		await keys(page, "End", "ArrowRight");
		await sees(page, `${panel} .grid-detail`, "shop.cc:30");
		assert.equal(await page.locator(`${panel} [aria-expanded=true]`).count(), 1);
		await keys(page, "c");
		await sees(page, "[aria-live=polite]", "copied");
		await keys(page, "ArrowLeft", "/");
		await page.keyboard.type("upload");
		await sees(page, `${panel} .summary`, "1 call stack of 3: 80.0 KB");
		await keys(page, "Escape");
		await sees(page, `${panel} .summary`, "3 call stacks");
		await page.selectOption("select:near(:text('Thread'))", "worker-2");
		await sees(page, `${panel} .summary`, "1 call stack of 3");
		await page.click(".chip");
		await sees(page, `${panel} .summary`, "3 call stacks");
	}));

test("a hundred thousand rows are in the table, and a few in the page", () => {
	const rows = Array.from({ length: 100_000 }, (_, i) => ({ stack: [0, 1 + (i % 4)], live_bytes: i + 1, live_blocks: 1, allocs: 1, alloc_bytes: i + 1 }));
	return visit(fill(pageOf(rows, FRAMES, { totals: { live_bytes: 1 } })), async (page) => {
		await page.click("#tab-stacks");
		await page.focus(`${panel} .grid`);
		assert.equal(await page.getAttribute(`${panel} .grid`, "aria-rowcount"), "100001");
		await keys(page, "End");
		await page.waitForSelector(`${panel} [aria-rowindex="100001"]`);
		await sees(page, `${panel} [aria-rowindex="100001"]`, "1 B");
		assert.ok((await page.locator(`${panel} .grid-row`).count()) < 80);
	});
});

test("the brush snaps to epochs, says what of them lives, and filters the other views", () =>
	visit(fill(shop()), async (page) => {
		await page.click("#tab-timeline");
		const over = page.locator("#panel-timeline .u-over").first();
		await over.waitFor();
		const box = await over.boundingBox();
		const at = (share) => [box.x + share * box.width, box.y + 40];
		await page.mouse.move(...at(0.25));
		await page.mouse.down();
		await page.mouse.move(...at(0.5), { steps: 4 });
		await page.mouse.up();
		assert.deepEqual((await state(page)).epochs, [1, 1]);
		await sees(page, "#panel-timeline h2", "Allocated from warm to 6.0 s, and still live: 2.1 MB");
		await page.focus(".brushable");
		await keys(page, "Shift+ArrowRight");
		assert.deepEqual((await state(page)).epochs, [1, 2]);
		await keys(page, "ArrowLeft");
		assert.deepEqual((await state(page)).epochs, [0, 0]);
		await page.click("#tab-stacks");
		await sees(page, `${panel} .summary`, "2 call stacks of 3: 1.0 MB");
		await page.click("#tab-timeline");
		await page.click("[aria-label=Epochs] .grid-row >> nth=1");
		await page.click("[aria-label=Epochs] .grid-row >> nth=2", { modifiers: ["Shift"] });
		assert.deepEqual((await state(page)).epochs, [1, 2]);
		await page.click(".chip");
		assert.equal((await state(page)).epochs, null);
	}));

test("a finger brushes too", () =>
	visit(fill(shop()), async (page) => {
		await page.click("#tab-timeline");
		const over = page.locator("#panel-timeline .u-over").first();
		await over.waitFor();
		const box = await over.boundingBox();
		await page.touchscreen.tap(box.x + 0.9 * box.width, box.y + 40);
		await sees(page, ".chip", "Allocated from 6.0 s to the end");
	}, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }));

test("one epoch only is said plainly", () => {
	const data = shop();
	data.document.marks = [];
	return visit(fill(data), async (page) => {
		await page.click("#tab-timeline");
		await sees(page, "#panel-timeline", "The recording has one epoch only");
	});
});

test("a finding of the overview leads to its evidence", () =>
	visit(fill(shop()), async (page) => {
		await page.click("#panel-overview .answer .finding .link");
		await sees(page, "#panel-leaks .grid-detail", "No pointer leads to it");
		await sees(page, "#panel-leaks .grid-detail", "shop.cc:40");
		await page.click("text=In the flame graph");
		await page.waitForSelector("#panel-flame:not([hidden])");
		assert.equal((await state(page)).zoom.length, 3);
	}));

test("light and dark follow the system, and a key", () =>
	visit(fill(shop()), async (page) => {
		const theme = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
		const dark = await theme();
		assert.equal(dark[0], "dark");
		await keys(page, "t");
		const light = await theme();
		assert.equal(light[0], "light");
		assert.notEqual(light[1], dark[1]);
		await keys(page, "?");
		await page.waitForSelector("dialog[open]");
		await keys(page, "Escape");
		await page.waitForSelector("dialog[open]", { state: "detached" });
	}, { colorScheme: "dark" }));

test("paper has the overview, leaks and stacks, and no controls", () =>
	visit(fill(shop()), async (page) => {
		await page.click("#tab-flame");
		await page.emulateMedia({ media: "print" });
		await page.waitForSelector(".paper");
		const text = await page.innerText("#app");
		for (const part of ["1 leak: 80.0 KB", "Leaks: the largest 1 of 1", "Largest call stacks: live at exit", "shop.cc:30"]) assert.ok(text.includes(part), part);
		for (const control of await page.locator("select, input, [role=tablist], .head button").all()) assert.equal(await control.isVisible(), false);
		assert.ok(await page.locator("#panel-flame canvas").first().isVisible());
		assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--ink")), "#14181c");
	}, { colorScheme: "dark" }));

test("360 pixels are enough for every view", () =>
	visit(fill(shop()), async (page) => {
		for (const tab of await page.$$eval("[role=tab]", (all) => all.map((one) => one.id.slice(4)))) {
			await page.click(`#tab-${tab}`);
			await page.waitForSelector(`#panel-${tab}:not([hidden])`);
			assert.deepEqual(await page.evaluate((name) => [document.documentElement.scrollWidth, document.getElementById(name).scrollWidth], `panel-${tab}`), [360, 360], tab);
		}
	}, { viewport: { width: 360, height: 740 } }));

test("a diff says what changed in words and in a table", () => {
	const change = (verdict, before, after_, frames) => ({ verdict, hash: "0".repeat(16), kind: "malloc", before: { live_bytes: before, live_blocks: 1 }, after: { live_bytes: after_, live_blocks: 2 }, frames });
	const side = (name) => ({ name, pid: 1, exe: "/usr/bin/shop", start_realtime_ns: 1.7e18, ended: "exit" });
	const data = {
		view: { kind: "diff", file: ["a.seep", "b.seep"], answer: null, head: [], foot: [], trim: [0, 0, 0, 0, 0, 0], function: [0, 1, 2, 3, 4], functions: FRAMES.map((one) => one.function), origin: "ooooo" },
		document: {
			before: side("a.seep"), after: side("b.seep"), from: null, until: null, round_count: 0, measure: "live",
			totals: { before: { live_bytes: 2048, live_blocks: 3 }, after: { live_bytes: 5120, live_blocks: 6 } },
			modules: [{ path: "/usr/bin/shop" }], frames: FRAMES, left_out: {}, unseen: [],
			changes: [change("GROWN", 1024, 5120, [2, 1, 0]), change("GONE", 1024, 0, [3, 1, 0])],
		},
	};
	return visit(fill(data), async (page) => {
		await sees(page, "#panel-overview h2", "3.0 KB more: live bytes went from 2.0 KB to 5.0 KB");
		await page.click("#tab-changes");
		await sees(page, `${panel} .grid-row >> nth=0`, "GROWN");
		await sees(page, `${panel} .grid-row >> nth=0`, "+4.0 KB");
		await sees(page, `${panel} .grid-row >> nth=1`, "−1.0 KB");
		await page.click("button:has-text('GONE')");
		await sees(page, `${panel} .summary`, "1 call stack");
	});
});

const whole = fill(shop());
for (const [what, html, sentence, options] of [
	["no data", template, "This is the page without data"],
	["an empty block", template.replace("@@SEEP_DATA@@", ""), "holds no data"],
	["junk", template.replace("@@SEEP_DATA@@", "%%%"), "damaged or cut off"],
	["a cut end", whole.slice(0, -900), "damaged or cut off"],
	["a cut script", whole.slice(0, whole.indexOf("seep-script") + 4000), "damaged or cut off"],
	["no JSON", fill("{"), "is not JSON"],
	["an old browser", whole, "too old for this page", { init: "delete globalThis.DecompressionStream" }],
	["no JavaScript", whole, "needs JavaScript", { javaScriptEnabled: false }],
	["another shape", fill({ view: 3, document: { contexts: [], leaks: 7, timeline: [null] } }), "Damaged"],
])
	test(`${what}: a clear sentence`, () =>
		visit(html, async (page) => {
			const text = await page.innerText("body");
			assert.ok(text.includes(sentence), text);
		}, options));

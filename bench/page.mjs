// SPDX-License-Identifier: MIT
// Opens pages with flame graphs in Chromium, in turns, and prints as JSON how long it took, in milliseconds:
// from navigation to the picture of all nodes, from a click to the picture of what it zooms to, and from the
// last key of a search to the picture with marks. A picture is there when the browser has painted the
// first frame in which the viewer says so: see `viewers`. Called by page.py with a file of what to open.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(new URL("../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));

const FLAGS = [
	"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync",
	// speedscope draws by WebGL only, and its script reads the profile from a file.
	"--enable-unsafe-swiftshader", "--allow-file-access-from-files",
];
const LIMIT_MS = 240_000;

/** In the page, before its own scripts: counts draws, and tells when a frame with a property was painted. */
function probe() {
	const own = { draws: 0, inputAt: 0 };
	const count = (owner, ...names) => {
		for (const name of names) {
			const original = owner?.prototype[name];
			if (original) owner.prototype[name] = function (...words) { own.draws++; return original.apply(this, words); };
		}
	};
	count(window.CanvasRenderingContext2D, "fillRect", "fill");
	count(window.WebGLRenderingContext, "drawArrays", "drawElements");
	own.painted = (holds) => new Promise((done) => {
		const look = () => requestAnimationFrame(() => {
			if (!holds()) return look();
			const { port1, port2 } = new MessageChannel();
			port1.onmessage = () => done(performance.now());
			port2.postMessage(0);
		});
		look();
	});
	own.input = (type) => addEventListener(type, (event) => { own.inputAt = event.timeStamp; }, { capture: true });
	window.probe = own;
}

/**
 * Of each viewer: what the page does until all is drawn; where a click zooms, and how it shows that it
 * has; how a search begins, and how it shows that it has marked.
 */
const viewers = {
	seep: {
		opened: async () => {
			await probe.painted(() => window.seep?.drawn.count > 0);
			const { store, drawn } = window.seep;
			const before = drawn.count;
			if (store.state.measure === "allocated") return performance.now();
			store.set({ measure: "allocated" });
			return probe.painted(() => drawn.count > before);
		},
		box: async (page) => {
			const { x, y, width } = await page.locator(".flame-canvases canvas").last().boundingBox();
			return { x: x + width * 0.3, y: y + 5 * 20 + 10 };
		},
		clicks: 1,
		zoomed: () => window.seep.store.state.zoom.length > 0,
		search: (page) => page.locator("#search").focus(),
		marked: () => document.querySelector(".flame-found")?.textContent.includes("found"),
	},
	d3: {
		opened: () => probe.painted(() => document.querySelectorAll("g.frame rect").length > 1),
		box: async (page) => {
			const boxes = await page.locator("svg").boundingBox();
			return page.evaluate(({ x, width }) => {
				const at = x + width * 0.3;
				const under = [...document.querySelectorAll("g.frame")].find((g) => {
					const { left, right } = g.getBoundingClientRect();
					return g.__data__.depth > 4 && right - left < 0.7 * width && g.__data__.children && left <= at && at < right;
				});
				under.scrollIntoView({ block: "center" });
				window.picked = under;
				const { left, right, top, bottom } = under.getBoundingClientRect();
				return { x: Math.min(right - 1, Math.max(left + 1, at)), y: (top + bottom) / 2 };
			}, boxes);
		},
		clicks: 1,
		zoomed: () => {
			const rect = window.picked.querySelector("rect");
			return Number(rect.getAttribute("width")) > document.querySelector("svg").clientWidth - 20;
		},
		search: (page) => page.locator("#search").focus(),
		marked: () => [...document.querySelectorAll("g.frame rect")].some((rect) => /230, 0, 230|#e600e6/i.test(rect.getAttribute("fill"))),
	},
	speedscope: {
		opened: () => probe.painted(() => window.probe.draws > 20 && document.body.innerText.includes("Left Heavy")),
		box: async () => ({ x: 400, y: 250 }),
		clicks: 2,
		zoomed: () => probe.draws > window.drawsBefore,
		search: (page) => page.keyboard.press("Control+f"),
		marked: () => probe.draws > window.drawsBefore,
	},
};

/** Milliseconds that the main thread of the page's process was on a processor. */
function busy(pid) {
	return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
}

/** The process of the only page. */
async function renderer(browser) {
	const session = await browser.newBrowserCDPSession();
	const { processInfo } = await session.send("SystemInfo.getProcessInfo");
	await session.detach();
	const pids = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
	return pids.reduce((a, b) => (busy(b) > busy(a) ? b : a));
}

/** Of what an action does, until it is painted: clock and processor. */
async function timed(page, pid, type, holds, act) {
	const before = busy(pid);
	await page.evaluate(([type, source]) => {
		probe.input(type);
		window.drawsBefore = probe.draws;
		window.waiting = probe.painted(eval(`(${source})`));
	}, [type, holds.toString()]);
	await act();
	const clock = await page.evaluate(async () => (await window.waiting) - probe.inputAt);
	return { clock, processor: busy(pid) - before };
}

async function steps(browser, page, figures, { viewer, url, search }) {
	const { opened, box, clicks, zoomed, search: begin, marked } = viewers[viewer];

	await page.addInitScript(probe);
	await page.addInitScript(`window.opened = (${opened})()`);
	await page.goto(url, { waitUntil: "commit" });
	const clock = await page.evaluate(() => window.opened);
	const pid = await renderer(browser);
	figures.open = { clock, processor: busy(pid) };
	await page.waitForTimeout(300);
	const { x, y } = await box(page);
	await page.mouse.move(x, y);
	figures.zoom = await timed(page, pid, "mouseup", zoomed, () => page.mouse.click(x, y, { clickCount: clicks }));
	await page.waitForTimeout(300);
	await begin(page);
	figures.search = await timed(page, pid, "input", marked, () => page.keyboard.insertText(search));
	if (plan.pictures) await page.screenshot({ path: `${plan.pictures}/${viewer}.png` });
}

/** What could be measured; `failed` says what the page came to grief at. */
async function measure(browser, one) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	const page = await context.newPage();
	const figures = {};
	const failure = new Promise((_, fail) => page.on("pageerror", fail));

	page.setDefaultTimeout(LIMIT_MS);
	try {
		await Promise.race([steps(browser, page, figures, one), failure]);
	} catch (error) {
		if (one.viewer === "seep") throw error;
		figures.failed = error.message;
	}
	await context.close();
	return figures;
}

const browser = await chromium.launch({ executablePath: plan.chromium, args: FLAGS });
const found = plan.pages.map(() => []);
for (let round = 0; round < plan.rounds; round++)
	for (const [i, one] of plan.pages.entries()) {
		if (round >= (one.rounds ?? plan.rounds)) continue;
		found[i].push(await measure(browser, one));
		console.error(one.viewer, round, JSON.stringify(found[i].at(-1)));
	}
console.log(JSON.stringify({ browser: browser.version(), found }));
await browser.close();

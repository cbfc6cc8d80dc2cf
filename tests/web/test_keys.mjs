// SPDX-License-Identifier: MIT
// The keys of the help, each of which does what is said there; and the page without a mouse.
import assert from "node:assert/strict";
import { test } from "./registry.mjs";
import { box, search, settled, spoken, tab, table } from "./screen.mjs";

const selected = async (page) => {
	await settled(page);
	return page.getByRole("tab", { selected: true }).evaluate((one) => one.id.replace("tab-", ""));
};
const VIEWS = ["overview", "flame", "timeline", "stacks", "functions", "leaks", "growth", "processes", "about"];

/** By headline and key of the help: what shows that the key does it. */
const KEYS = {
	"Everywhere: 1 … 9": async (page) => {
		for (const [i, view] of VIEWS.entries()) {
			await page.keyboard.press(`${i + 1}`);
			assert.equal(await selected(page), view);
		}
	},
	"Everywhere: /": async (page) => {
		await page.keyboard.press("1");
		await page.keyboard.press("/");
		await page.waitForFunction(() => document.activeElement.id === "search");
		await page.keyboard.type("3t");
		assert.equal(await page.locator("#search").inputValue(), "3t", "what is typed is no key");
	},
	"Everywhere: t": async (page) => {
		const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
		assert.equal(await theme(), "light");
		await page.keyboard.press("t");
		await settled(page);
		assert.equal(await theme(), "dark");
		await page.keyboard.press("t");
		await settled(page);
		assert.equal(await theme(), "light");
	},
	"Everywhere: p": async (page) => {
		await page.evaluate(() => { window.print = () => { window.printed = true; }; });
		await page.keyboard.press("p");
		assert.equal(await page.evaluate(() => window.printed), true);
	},
	"Everywhere: Esc": async (page) => {
		await page.keyboard.press("4");
		await search(page, "main");
		await page.locator("#search").focus();
		await page.keyboard.press("Escape");
		await settled(page);
		assert.equal(await page.locator("#search").inputValue(), "");
		await page.keyboard.press("Escape");
		assert.equal(await page.evaluate(() => document.activeElement.id), "", "the second leaves the field");
	},
	"Everywhere: ?": async (page) => {
		await page.keyboard.press("?");
		await page.waitForSelector("dialog[open]");
		await page.keyboard.press("3");
		assert.equal(await selected(page), "overview", "keys rest while the help is open");
		await page.keyboard.press("Escape");
		await settled(page);
		assert.equal(await page.locator("dialog[open]").count(), 0);
		await page.getByRole("button", { name: "Keys" }).click();
		await page.getByRole("button", { name: "Close" }).click();
		await settled(page);
		assert.equal(await page.locator("dialog[open]").count(), 0);
	},
	"Tabs: ← →": async (page) => {
		await page.getByRole("tab", { selected: true }).focus();
		await page.keyboard.press("ArrowRight");
		assert.equal(await selected(page), "flame");
		await page.keyboard.press("ArrowLeft");
		await page.keyboard.press("ArrowLeft");
		assert.equal(await selected(page), "about", "round the end");
	},
	"Tabs: Home End": async (page) => {
		await page.getByRole("tab", { selected: true }).focus();
		await page.keyboard.press("End");
		assert.equal(await selected(page), "about");
		await page.keyboard.press("Home");
		assert.equal(await selected(page), "overview");
	},
	"Tables: ↑ ↓ PgUp PgDn Home End": async (page) => {
		await page.keyboard.press("4");
		await settled(page);
		const grid = table(page, "Call stacks");
		const at = async () => {
			await settled(page);
			return Number(await grid.locator(".active").getAttribute("aria-rowindex"));
		};
		await grid.focus();
		for (const [key, more] of [["ArrowDown", true], ["PageDown", true], ["End", true], ["ArrowUp", false], ["PageUp", false], ["Home", false]]) {
			const before = await at();
			await page.keyboard.press(key);
			assert.equal(await at() > before, more, key);
		}
	},
	"Tables: Enter → and ←": async (page) => {
		await page.keyboard.press("4");
		await settled(page);
		await table(page, "Call stacks").focus();
		for (const [key, open] of [["Enter", 1], ["Enter", 0], ["ArrowRight", 1], ["ArrowLeft", 0]]) {
			await page.keyboard.press(key);
			await settled(page);
			assert.equal(await page.locator(".detail").count(), open, key);
		}
	},
	"Tables: c": async (page) => {
		await page.keyboard.press("4");
		await settled(page);
		await table(page, "Call stacks").focus();
		await page.keyboard.press("c");
		await settled(page);
		assert.match(await page.evaluate(() => navigator.clipboard.readText()), /fill_cache/);
		assert.equal(await page.locator(".hidden-text[aria-live]").textContent(), "copied");
	},
	"Tables: Tab": async (page) => {
		await page.keyboard.press("4");
		await settled(page);
		await table(page, "Call stacks").focus();
		await page.keyboard.press("Tab");
		assert.equal(await page.evaluate(() => document.activeElement.closest("[role]").getAttribute("role")), "columnheader");
	},
	"Flame graph: ← → ↑ ↓": async (page) => {
		await flame(page);
		await press(page, "Home", "ArrowDown", "ArrowDown");
		const first = await spoken(page);
		assert.equal((await box(page)).level, 3);
		await press(page, "ArrowRight");
		assert.notEqual(await spoken(page), first);
		await press(page, "ArrowLeft");
		assert.equal(await spoken(page), first);
		await press(page, "ArrowUp");
		assert.equal((await box(page)).level, 2);
	},
	"Flame graph: Enter": async (page) => {
		await flame(page);
		await press(page, "Home", "ArrowDown", "Enter");
		assert.equal(await page.locator(".way button").count(), 2);
	},
	"Flame graph: Backspace Esc": async (page) => {
		await flame(page);
		for (const key of ["Backspace", "Escape"]) {
			await press(page, "Home", "ArrowDown", "Enter");
			assert.equal(await page.locator(".way button").count(), 2);
			await press(page, key);
			assert.equal(await page.locator(".way button").count(), 1, key);
		}
	},
	"Flame graph: Home": async (page) => {
		await flame(page);
		await press(page, "ArrowDown", "ArrowDown", "Home");
		assert.equal((await box(page)).level, 1);
	},
	"Flame graph: + −": async (page) => {
		await flame(page);
		const picture = () => page.locator(".flame-canvases canvas").first().evaluate((canvas) => canvas.toDataURL());
		const before = await picture();
		await press(page, "+");
		assert.ok(await picture() !== before);
		await press(page, "-");
		assert.ok(await picture() === before);
	},
	"Flame graph: s": async (page) => {
		await flame(page);
		await press(page, "Home", "ArrowDown", "s");
		assert.equal(await page.locator(".sandwich").count(), 1);
		await press(page, "Escape");
		assert.equal(await page.locator(".sandwich").count(), 0);
	},
	"Flame graph: c": async (page) => {
		await flame(page);
		await press(page, "Home", "ArrowDown", "c");
		assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^main \d+$/);
	},
	"Flame graph: n N": async (page) => {
		await flame(page);
		await search(page, "lose_");
		await press(page, "n");
		const first = await spoken(page);
		await press(page, "n");
		assert.notEqual(await spoken(page), first);
		await press(page, "N");
		assert.equal(await spoken(page), first);
	},
	"Timeline: ← →": async (page) => {
		await timeline(page);
		await press_(page, "ArrowRight");
		assert.match(await heading(page), /^Allocated from (the )?start to warm/);
		await press_(page, "ArrowRight");
		assert.match(await heading(page), /^Allocated from warm to serving/);
		await press_(page, "ArrowLeft");
		assert.match(await heading(page), /^Allocated from (the )?start to warm/);
	},
	"Timeline: Shift ← →": async (page) => {
		await timeline(page);
		await press_(page, "ArrowRight");
		await press_(page, "Shift+ArrowRight");
		assert.match(await heading(page), /^Allocated from (the )?start to serving/);
		await press_(page, "Shift+ArrowLeft");
		assert.match(await heading(page), /^Allocated from (the )?start to warm/);
	},
	"Timeline: Esc": async (page) => {
		await timeline(page);
		await press_(page, "ArrowRight");
		await press_(page, "Escape");
		assert.match(await heading(page), /^Still live, of the whole run/);
	},
};

async function flame(page) {
	await tab(page, "Flame graph");
	await page.getByRole("tree").focus();
}

async function timeline(page) {
	await tab(page, "Timeline");
	await page.getByRole("group", { name: /^Timeline/ }).focus();
}

const heading = (page) => page.locator(".timeline section.grow h2").textContent();

async function press_(page, key) {
	await page.keyboard.press(key);
	await settled(page);
}

async function press(page, ...keys) {
	await page.getByRole("tree").first().focus();
	for (const key of keys) await press_(page, key);
}

test("each key of the help does what is said there", async (session) => {
	const page = await session.open("tour");

	await page.keyboard.press("?");
	await page.waitForSelector("dialog[open]");
	const told = await page.locator("dialog .keys").evaluate((list) => {
		const found = [];
		let title = "";
		for (const element of list.querySelectorAll("h3, dt"))
			if (element.tagName === "H3") title = element.textContent;
			else found.push(`${title}: ${element.textContent.replaceAll(",", "").trim()}`);
		return found;
	});
	assert.deepEqual(told, Object.keys(KEYS), "the help and its tests list the same keys");
	for (const [key, check] of Object.entries(KEYS)) {
		await page.evaluate(() => {
			document.querySelector("dialog[open]")?.close();
			document.activeElement.blur();
			window.seep.store.set({ tab: "overview", measure: "live", search: "", epochs: null, zoom: [], function: null, selected: null });
		});
		await settled(page);
		try {
			await check(page);
		} catch (error) {
			error.message = `${key}: ${error.message}`;
			throw error;
		}
	}
});

/** What has the focus, by a number of its own; and whether one can see that. */
const focused = (page) =>
	page.evaluate(() => {
		const element = document.activeElement;
		const marks = (one, pseudo) => {
			const style = getComputedStyle(one, pseudo);
			return (style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
		};
		window.stops ??= new Map();
		if (!window.stops.has(element)) window.stops.set(element, window.stops.size);
		const around = [element, element.parentElement, element.parentElement?.parentElement].filter(Boolean);
		return {
			number: window.stops.get(element),
			visible: around.some((one) => marks(one)),
			what: `${element.tagName.toLowerCase()}.${element.className} ${(element.getAttribute("aria-label") ?? element.textContent).slice(0, 40)}`,
			body: element === document.body,
		};
	});

/** What one could use with a mouse, and Tab does not reach. */
const unreached = (page) =>
	page.evaluate(() => {
		const usable = "a[href], button, input, select, summary, textarea, [tabindex='0']";
		return [...document.querySelectorAll(usable)].filter((element) =>
			element.checkVisibility({ visibilityProperty: true }) && element.tabIndex >= 0 && !element.disabled && !window.stops.has(element),
		).map((element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`);
	});

test("Tab reaches whatever can be used, in every view, and one sees where", async (session) => {
	const page = await session.open("tour");

	for (const view of VIEWS) {
		await page.evaluate((name) => {
			window.seep.store.set({ tab: name, search: name === "flame" ? "lose_" : "" });
			document.activeElement.blur();
			window.stops = new Map();
		}, view);
		await settled(page);
		if (view === "stacks" || view === "leaks") {
			await page.locator("[role=tabpanel]:not([hidden]) .grid-row").first().click();
			await page.waitForSelector(".detail");
		}
		// Once round, from wherever.
		for (let i = 0; i < 200; i++) {
			await page.keyboard.press("Tab");
			const here = await focused(page);
			if (i > 0 && here.number === 0) break;
			assert.ok(here.body || here.visible, `${view}: no mark of the focus on ${here.what}`);
		}
		assert.deepEqual(await unreached(page), [], view);
	}
});

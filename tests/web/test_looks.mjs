// SPDX-License-Identifier: MIT
// Dark and light, paper, narrow screens, and what can be told apart by everybody.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "./registry.mjs";
import { colours, search, settled, tab } from "./screen.mjs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const tabs = (page) => page.getByRole("tab").evaluateAll((list) => list.map((one) => one.id.replace("tab-", "")));
const show = async (page, view) => {
	await page.evaluate((name) => window.seep.store.set({ tab: name }), view);
	await settled(page);
};

/** How light the page's background is, from 0 to 1. */
const lightness = (page) =>
	page.evaluate(() => {
		const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
		return (0.3 * r + 0.6 * g + 0.1 * b) / 255;
	});

test("light and dark are the system's, until the reader chooses", async (session) => {
	const dark = await session.open("tour", { colorScheme: "dark" });
	assert.ok(await lightness(dark) < 0.2);
	const page = await session.open("tour");
	assert.ok(await lightness(page) > 0.8);
	await page.emulateMedia({ colorScheme: "dark" });
	await settled(page);
	assert.ok(await lightness(page) < 0.2);
	await page.getByRole("button", { name: "Light", exact: true }).click();
	await settled(page);
	assert.ok(await lightness(page) > 0.8);
	await page.reload();
	await page.waitForSelector("[role=tabpanel]");
	assert.ok(await lightness(page) > 0.8, "the choice is kept");
});

test("canvases are drawn anew in the other theme", async (session) => {
	const page = await session.open("tour", { hash: "flame", wait: ".flame-pane" });
	const corner = (canvas) => canvas.evaluate((element) => {
		const copy = new OffscreenCanvas(1, 1).getContext("2d");
		copy.drawImage(element, 2 - element.width, 2 - element.height);
		return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3).reduce((a, b) => a + b);
	});
	const canvas = page.locator(".flame-canvases canvas").first();

	await settled(page);
	const light = await corner(canvas);
	await page.keyboard.press("t");
	await settled(page);
	assert.ok(await corner(canvas) < light);
	assert.ok(await colours(canvas) > 3);
	await tab(page, "Timeline");
	const plot = page.locator(".timeline canvas").first();
	const before = await plot.evaluate((element) => element.toDataURL());
	await page.keyboard.press("t");
	await settled(page);
	assert.ok(await page.locator(".timeline canvas").first().evaluate((element) => element.toDataURL()) !== before);
});

test("paper has the answer, leaks and call stacks, and no controls", async (session) => {
	const page = await session.open("tour", { hash: "flame", wait: ".flame-pane" });
	const { leaks } = session.document("tour");

	await page.emulateMedia({ media: "print" });
	await page.waitForSelector(".paper article");
	const seen = await page.evaluate(() => [...document.querySelectorAll("button, input, select, .tabs, .filters")].filter((one) => one.checkVisibility()
		&& !one.matches(".link")).map((one) => one.outerHTML.slice(0, 100)));
	assert.deepEqual(seen, []);
	const text = await page.locator("body").innerText();
	assert.match(text, /3 leaks: .* lost/);
	for (const name of ["lose_one", "lose_list", "lose_cycle", "fill_cache", "only_before"]) assert.ok(text.includes(name), name);
	assert.equal(await page.locator(".paper article").count(), leaks.filter(({ verdict, root }) => root === null && /^LOST/.test(verdict)).length + 20);
	const pdf = (await page.pdf()).toString("latin1");
	assert.ok(pdf.startsWith("%PDF-"));
	const pages = [...pdf.matchAll(/\/Type \/Page\b(?!s)/g)].length;
	assert.ok(pages >= 2 && pages <= 25, `${pages} pages`);
	await page.emulateMedia({ media: null });
	await settled(page);
	assert.equal(await page.locator(".paper article").count(), 0);
	assert.ok(await page.getByRole("tree").isVisible());
});

test("360 pixels are enough: nothing is wider than the screen, everything can be reached", async (session) => {
	for (const name of ["tour", "diff"]) {
		const page = await session.open(name, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
		for (const view of await tabs(page)) {
			await page.locator(`#tab-${view}`).tap();
			await settled(page);
			assert.equal(await page.getByRole("tab", { selected: true }).getAttribute("id"), `tab-${view}`);
			const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
			assert.ok(wide <= 360, `${name}, ${view}: ${wide} pixels`);
			const out = await page.evaluate(() => {
				const beyond = [];
				for (const element of document.querySelectorAll("button, input, select, summary, h1, h2")) {
					const { left, right, width } = element.getBoundingClientRect();
					if (!element.checkVisibility() || width === 0 || (left >= -1 && right <= 361)) continue;
					// Unless it can be scrolled to.
					let box = element.parentElement;
					while (box && !/auto|scroll/.test(getComputedStyle(box).overflowX)) box = box.parentElement;
					if (!box && !element.closest(".hidden-text")) beyond.push(`${element.tagName} ${element.textContent.slice(0, 30)} ${left}..${right}`);
				}
				return beyond;
			});
			assert.deepEqual(out, [], `${name}, ${view}`);
		}
		const row = page.locator("[role=tabpanel]:not([hidden]) .grid-row").first();
		await page.locator(`#tab-${name === "tour" ? "stacks" : "changes"}`).tap();
		await settled(page);
		await row.tap();
		await page.waitForSelector(".detail");
		assert.ok(await page.evaluate(() => document.scrollingElement.scrollWidth) <= 360);
	}
});

/** Pieces of text whose colour is too near to what is behind them. */
const faint = (page) =>
	page.evaluate(() => {
		const parse = (text) => {
			const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
			return { r, g, b, a };
		};
		const light = ({ r, g, b }) => {
			const [x, y, z] = [r, g, b].map((one) => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
			return 0.2126 * x + 0.7152 * y + 0.0722 * z;
		};
		const over = (top, below) => Object.fromEntries(["r", "g", "b"].map((key) => [key, top[key] * top.a + below[key] * (1 - top.a)]));
		const behind = (element) => {
			const layers = [];
			for (let at = element; at; at = at.parentElement) {
				const colour = parse(getComputedStyle(at).backgroundColor);
				if (colour.a > 0) layers.push(colour);
				if (colour.a === 1) break;
			}
			return layers.reduceRight((below, top) => over(top, below), { r: 255, g: 255, b: 255 });
		};
		const found = [];
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let node = walker.nextNode(); node; node = walker.nextNode()) {
			const element = node.parentElement;
			if (!node.data.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
			if (element.closest(".hidden-text, [aria-hidden=true], script, style, canvas")) continue;
			const style = getComputedStyle(element);
			const ground = behind(element);
			const pair = [light(over(parse(style.color), ground)), light(ground)].sort((a, b) => b - a);
			const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
			if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.className || element.tagName}: ${node.data.slice(0, 40)}`);
		}
		return [...new Set(found)];
	});

test("text stands out from what is behind it, in every view and both themes", async (session) => {
	for (const colorScheme of ["light", "dark"]) {
		const page = await session.open("tour", { colorScheme });
		for (const view of await tabs(page)) {
			await show(page, view);
			const row = page.locator("[role=tabpanel]:not([hidden]) .grid-row").first();
			if (await row.count()) await row.click();
			await settled(page);
			assert.deepEqual(await faint(page), [], `${view}, ${colorScheme}`);
		}
	}
});

test("a checker of accessibility finds nothing, in every view and both themes", async (session) => {
	for (const [name, colorScheme] of [["tour", "light"], ["diff", "dark"]]) {
		const page = await session.open(name, { colorScheme });
		await page.evaluate(AXE);
		for (const view of await tabs(page)) {
			await show(page, view);
			if (view === "flame") await search(page, "main");
			const found = await page.evaluate(async () => {
				const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
				return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")}`);
			});
			assert.deepEqual(found, [], `${name}, ${view}`);
		}
	}
});

test("colours are never alone: what they say is said in words or signs too", async (session) => {
	const page = await session.open("tour", { hash: "leaks" });
	const verdicts = await page.locator(".panel-leaks .verdict").allTextContents();

	assert.ok(verdicts.length > 3);
	for (const verdict of verdicts) assert.match(verdict, /^\S+ [A-Z-]+$/);
	await page.emulateMedia({ forcedColors: "active" });
	for (const view of await tabs(page)) {
		await show(page, view);
		assert.ok((await page.locator("[role=tabpanel]:not([hidden])").innerText()).length > 20, view);
	}
	await page.emulateMedia({ forcedColors: null, reducedMotion: "reduce" });
});

test("paper is light in the dark theme too, and has the flame graph as wide as the sheet", async (session) => {
	const page = await session.open("tour", { hash: "flame", wait: ".flame-pane", colorScheme: "dark" });
	const canvas = page.locator(".flame-canvases canvas").first();
	const shape = () => canvas.evaluate((element) => {
		const copy = new OffscreenCanvas(1, 1).getContext("2d");
		copy.drawImage(element, -element.width / 2, -5);
		return { width: element.width, light: copy.getImageData(0, 0, 1, 1).data[0] };
	});

	await settled(page);
	const before = await shape();
	await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
	const printed = await shape();
	assert.ok(before.light < 100 && printed.light > 180, JSON.stringify([before, printed]));
	await page.evaluate(() => dispatchEvent(new Event("afterprint")));
	assert.deepEqual(await shape(), before);
});

// SPDX-License-Identifier: MIT
// What a reader sees of a page, as data.

/** Lets the page draw what has changed. */
export const settled = (page) =>
	page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

export async function tab(page, name) {
	await page.getByRole("tab", { name }).click();
	await settled(page);
}

/** A table of rows, by its name; it is a tree where rows open. */
export const table = (page, label) => page.locator(`[role=tabpanel]:not([hidden]) .grid[aria-label="${label}"]`);

/** The first rows of a table, those out of sight too: texts and titles of cells by header. */
export const rows = (page, label, most = Infinity) =>
	table(page, label).evaluate(async (grid, least) => {
		const heads = [...grid.querySelectorAll("[role=columnheader] button")].map((head) => head.firstChild.textContent);
		const found = new Map();
		const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

		grid.scrollTop = 0;
		for (;;) {
			await frame();
			for (const row of grid.querySelectorAll(".grid-row")) {
				const cells = [...row.querySelectorAll("[role=gridcell]")];
				found.set(Number(row.getAttribute("aria-rowindex")), Object.fromEntries(heads.map((head, i) =>
					[head, { text: cells[i].textContent.replace(/^[▸▾]/, ""), exact: cells[i].title }])));
			}
			const before = grid.scrollTop;
			grid.scrollTop += Math.max(grid.clientHeight - 60, 60);
			if (grid.scrollTop === before || found.size >= least) break;
		}
		grid.scrollTop = 0;
		await frame();
		return [...found].sort((a, b) => a[0] - b[0]).map(([, row]) => row);
	}, most === Infinity ? 1e9 : most);

/** How many rows a table has. */
export const count = async (page, label) => Number(await table(page, label).getAttribute("aria-rowcount")) - 1;

/** "1,234 bytes" is 1234. */
export const number = (text) => {
	const [digits] = /[−-]?[\d,]+(?!\.)/.exec(text) ?? [];
	if (digits === undefined) throw new Error(`no number in '${text}'`);
	return Number(digits.replaceAll(",", "").replace("−", "-"));
};

export const digits = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

/** Rows of a list of definitions: what stands below the flame graph, in totals and in details. */
export const facts = (locator) =>
	locator.evaluate((element) => Object.fromEntries([...element.querySelectorAll("dt")].map((dt) =>
		[dt.textContent, [...dt.parentElement.querySelectorAll("dd")].map((dd) => dd.querySelector("[title]")?.title || dd.textContent)[0]])));

/** What screen readers are told of the box in focus: name, value, share, level … */
export const spoken = (page, pane = 0) => page.getByRole("tree").nth(pane).getByRole("treeitem").textContent();

/** The box in focus as { name, level, value }. */
export async function box(page) {
	const text = await spoken(page);
	const below = await facts(page.locator(".in-focus"));
	return {
		name: await page.locator(".in-focus .tip-name").textContent(),
		level: Number(/level (\d+)/.exec(text)[1]),
		facts: below,
		value: number(below.Inclusive ?? below.Change),
	};
}

/** A list to choose from in the bar above the views, by its label. */
export const choices = (page, label) => page.locator(".filters label", { hasText: new RegExp(`^${label}`) }).locator("select");

/** Picks an option of the bar above the views, by its label. */
export async function choose(page, label, option) {
	await choices(page, label).selectOption(option);
	await settled(page);
}

export const MEASURES = {
	live: "Live at exit", lost: "Lost", growing: "Growing", peak: "Peak", allocated: "Allocated", temporary: "Temporary",
};

/** The measures offered, beside each other where there is room for them. */
export async function measures(page) {
	const names = await page.getByRole("group", { name: "Measure" }).getByRole("button").allTextContents();
	return Object.keys(MEASURES).filter((measure) => names.includes(MEASURES[measure]));
}

export async function measure(page, name) {
	await page.getByRole("group", { name: "Measure" }).getByRole("button", { name: MEASURES[name], exact: true }).click();
	await settled(page);
}

export async function search(page, text) {
	await page.locator("#search").fill(text);
	await settled(page);
}

/** How many different colours a canvas has: an empty one has one. */
export const colours = (canvas) =>
	canvas.evaluate((element) => {
		const { width, height } = element;
		const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(element, 0, 0);
		const { data } = copy.getImageData(0, 0, width, height);
		return new Set(new Uint32Array(data.buffer)).size;
	});

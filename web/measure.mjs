// SPDX-License-Identifier: MIT
// node measure.mjs PAGE [RUNS]: how long a page takes in headless Chromium, software rendering: from
// navigation to the first flame graph that is drawn, one zoom, one search. Medians and ranges in ms.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const [file, runs = "5"] = process.argv.slice(2);
const ARGS = [
	"--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync",
];

/** Runs in the page: times from a change of state until it was drawn and shown. */
async function measure(measureName) {
	const { model, store, drawn } = window.seep;
	const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
	const load = drawn.firstAt;
	const time = async (patch) => {
		const [count, begun] = [drawn.count, performance.now()];
		store.set(patch);
		while (drawn.count === count) await new Promise((done) => setTimeout(done));
		await frame();
		return [performance.now() - begun, drawn.ms];
	};
	const switched = store.state.measure === measureName ? [0] : await time({ measure: measureName });
	const tree = model.tree(model.weigh(store.state), false);
	const zooms = [];
	const redraws = [];
	// Into the widest box of every fifth row, and back out.
	for (let row = 1; row < Math.min(tree.height, 60); row += 5) {
		const nodes = [...tree.rows.subarray(tree.rowStart[row], tree.rowStart[row + 1])];
		const node = nodes.reduce((a, b) => (tree.width[b] > tree.width[a] ? b : a));
		for (const zoom of [tree.path(node).slice(1).map((at) => tree.fn[at]), []]) {
			const [all, ms] = await time({ zoom });
			zooms.push(all);
			redraws.push(ms);
		}
	}
	const searches = [];
	for (const search of ["e", "std::", "/^[a-m].*(get|set)/", "parse"]) searches.push((await time({ search }))[0]);
	return { load, switched: switched[0], zooms, redraws, searches, nodes: tree.count, functions: model.frames.functionCount };
}

const sorted = (list) => [...list].sort((a, b) => a - b);
const words = (list) => {
	const all = sorted(list);
	return `${all[all.length >> 1].toFixed(0)} (${all[0].toFixed(0)}–${all[all.length - 1].toFixed(0)})`;
};

const results = [];
for (let run = 0; run < Number(runs); run++) {
	const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGS });
	const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
	await page.goto(`file://${resolve(file)}#flame`);
	await page.waitForFunction(() => window.seep?.drawn.count > 0, null, { timeout: 120_000 });
	results.push(await page.evaluate(measure, "allocated"));
	await browser.close();
}
const all = (key) => results.flatMap((result) => result[key]);
console.log(`${file}: ${statSync(file).size} bytes, ${results[0].nodes} nodes, ${results[0].functions} functions, ${runs} runs`);
console.log(`load to the first graph ${words(all("load"))} ms`);
console.log(`another measure ${words(all("switched"))} ms, zoom ${words(all("zooms"))} ms (drawing ${words(all("redraws"))}), search ${words(all("searches"))} ms`);

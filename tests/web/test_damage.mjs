// SPDX-License-Identifier: MIT
// Files that were cut, changed or made by an enemy: a sentence, never a blank page, never an exception.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readData, writeData, writeText } from "./rewrite.mjs";
import { test } from "./registry.mjs";

let made = 0;
const fresh = (session) => join(session.scratch, `damaged-${made++}.html`);

const tabs = new WeakMap();

/** All pages of a test in one tab, which is quicker. */
async function go(session, path, wait) {
	const page = tabs.get(session);

	if (page) await session.go(page, path, { wait });
	else tabs.set(session, await session.open(path, { wait }));
	return tabs.get(session);
}

/** Opens the page, and has it say what is wrong. */
async function says(session, path, sentence) {
	const page = await go(session, path, "[role=alert]");
	const alert = page.getByRole("alert");

	assert.match(await alert.locator("h1").textContent(), sentence);
	assert.match(await alert.locator("p").textContent(), /seep report/);
	assert.ok(await alert.isVisible());
}

/** Opens the page and every view of it: something is to be read in each. Returns all that was. */
async function survives(session, path) {
	const page = await go(session, path, "[role=tabpanel], [role=alert]");

	return page.evaluate(async () => {
		const told = [document.body.innerText];
		for (const one of document.querySelectorAll("[role=tab]")) {
			one.click();
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			const text = document.querySelector("[role=tabpanel]:not([hidden])").innerText.trim();
			if (!text) throw new Error(`${one.textContent} is empty`);
			told.push(text);
		}
		return told.join("\n");
	});
}

test("data that are cut off or no base64 are told", async (session) => {
	const path = session.path("clean");
	const whole = readFileSync(path, "utf8");
	const data = /type="application\/gzip;base64">([^<]*)</g;
	const text = [...whole.matchAll(data)].at(-1)[1];

	for (const wrong of [text.slice(0, text.length / 2), text.slice(0, 20), `!!!${text.slice(3)}`, `${text.slice(0, 400)}AAAA${text.slice(404)}`])
		await says(session, writeText(path, fresh(session), wrong), /damaged or cut off/);
	await says(session, writeText(path, fresh(session), ""), /holds no data/);
	await says(session, writeText(path, fresh(session), "@@SEEP_DATA@@"), /page without data/);
});

test("a page that is cut off is told", async (session) => {
	const whole = readFileSync(session.path("clean"), "utf8");

	for (const [share, sentence] of [[0.5, /cut off/], [0.9, /cut off/]]) {
		const path = fresh(session);
		writeFileSync(path, whole.slice(0, whole.length * share));
		await says(session, path, sentence);
	}
});

test("data that are no gzip or no JSON are told", async (session) => {
	const path = session.path("clean");

	await says(session, writeText(path, fresh(session), Buffer.from("plain text").toString("base64")), /damaged or cut off/);
	await says(session, writeText(path, fresh(session), gzipSync('{"view": {}').toString("base64")), /not JSON/);
	await says(session, writeText(path, fresh(session), gzipSync("").toString("base64")), /not JSON/);
});

test("JSON of another shape shows what there is, and says that it is damaged", async (session) => {
	for (const data of [{}, [], null, 3, "text", { view: [], document: 5 }, { view: { kind: "diff" }, document: { changes: [null, 3, {}] } }, { view: {}, document: { contexts: { count: 1e9 }, frames: 7 } }])
		assert.match(await survives(session, writeData(session.path("clean"), fresh(session), data)), /[Dd]amaged/, JSON.stringify(data));
});

test("each member of the document may be anything", async (session) => {
	const data = readData(session.path("hostile"));
	const { document } = data;

	for (const [i, key] of Object.keys(document).entries()) {
		const wrong = i % 2 ? [[], null, { frames: [1e9] }, "<b>text</b>"] : null;
		await survives(session, writeData(session.path("clean"), fresh(session), { ...data, document: { ...document, [key]: wrong } }));
	}
	for (const key of Object.keys(data.view))
		await survives(session, writeData(session.path("clean"), fresh(session), { ...data, view: { ...data.view, [key]: [-1, null, "x", {}] } }));
});

test("indexes out of range are left out and told", async (session) => {
	const data = readData(session.path("tour"));
	const { contexts, leaks, frames } = data.document;
	const spoilt = (change) => {
		const copy = structuredClone(data);
		change(copy.document, copy.view);
		return survives(session, writeData(session.path("clean"), fresh(session), copy));
	};

	assert.ok(contexts.count && leaks.length && frames.length);
	assert.match(await spoilt((doc) => { doc.contexts.stacks = doc.contexts.stacks.map((one, at) => (at % 7 ? one : 1e9)); }), /[Dd]amaged/);
	assert.match(await spoilt((doc) => { doc.contexts.stacks.length >>= 1; }), /[Dd]amaged/);
	assert.match(await spoilt((doc) => { for (const frame of doc.frames) frame.module = 1e6; }), /[Dd]amaged/);
	assert.match(await spoilt((doc) => { doc.contexts.live_bytes = doc.contexts.live_bytes.map(() => -1); }), /[Dd]amaged/);
	assert.match(await spoilt((doc) => { doc.contexts.others.push([1e9, {}], [-1, null]); }), /[Dd]amaged/);
	await spoilt((doc) => { for (const leak of doc.leaks) Object.assign(leak, { context: 1e9, root: -5, bytes: "many" }); });
	await spoilt((doc) => { for (const leak of doc.leaks) leak.root = 0; });
	await spoilt((doc) => { for (const mark of doc.marks) Object.assign(mark, { epoch: 1e12, at_ns: -1 }); });
	await spoilt((doc) => { doc.timeline = doc.timeline.map((one, at) => (at % 2 ? { ...one, at_ns: 1e30 } : { ...one, live_bytes: "1e400" })); });
	await spoilt((doc) => { Object.assign(doc.process, { start_ns: 1e18, end_ns: 1, start_realtime_ns: 1e300 }); });
	await spoilt((doc, view) => { view.trim = view.trim.map(() => 1e9); view.function = view.function.map(() => -1); });
	await spoilt((doc) => { doc.contexts.folds = [0, 1e9, 1, 2, 3]; });
});

test("without JavaScript the page says that it needs it, and what to do", async (session) => {
	const page = await session.open("tour", { javaScriptEnabled: false, wait: "noscript" });

	assert.match(await page.locator("body").innerText(), /needs JavaScript, which is switched off here.*seep report FILE/s);
});

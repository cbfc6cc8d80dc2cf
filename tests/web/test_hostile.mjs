// SPDX-License-Identifier: MIT
// Names of every kind that a program or a file can have: they are text, and nothing else, everywhere.
import assert from "node:assert/strict";
import { join } from "node:path";
import { readData, writeData } from "./rewrite.mjs";
import { test } from "./registry.mjs";
import { settled, table } from "./screen.mjs";

const NASTY = [
	"<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>", "<img src=x onerror=window.hacked=3>",
	"\"' onmouseover='window.hacked=4' x=\"", "&lt;b&gt;&amp;", "${window.hacked=5}", "a\u202eb\u2066c", "\u0000\u0007\u001b[31m\u0085\n\r\t",
	"\u200b\ufeff\u2028", "\ud800 alone", "x".repeat(20_000), "-->", "]]>", "javascript:window.hacked=6", "%s%n{{constructor}}", "",
];
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

/** Visits every view, opens what opens, hovers, searches and prints; then looks for traces. */
async function visit(session, page) {
	const views = await page.getByRole("tab").evaluateAll((list) => list.map((one) => one.id.replace("tab-", "")));
	const elements = () => page.evaluate(() => document.querySelectorAll("script, img, iframe, object, embed, b b, [onmouseover], [onerror]").length);
	const before = await elements();
	for (const view of views) {
		await page.evaluate((name) => window.seep.store.set({ tab: name }), view);
		await settled(page);
		for (const row of (await page.locator("[role=tabpanel]:not([hidden]) .grid-row").all()).slice(0, 3)) await row.click({ position: { x: 8, y: 8 } });
		for (const summary of await page.locator("[role=tabpanel]:not([hidden]) summary").all()) await summary.click();
		await settled(page);
		const text = await page.evaluate(() => document.body.innerText + [...document.querySelectorAll("[title], [aria-label]")].map((one) => one.title + one.getAttribute("aria-label")).join(""));
		const found = HIDDEN.exec(text.replaceAll("\n", ""));
		assert.equal(found && JSON.stringify(text.replaceAll("\n", "").slice(Math.max(0, found.index - 30), found.index + 10)), null, `${view}: a character without a shape`);
		assert.ok(await page.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth), `${view} is wider than the screen`);
	}
	await page.evaluate(() => window.seep.store.set({ tab: "flame", search: "<" }));
	await settled(page);
	const box = await page.locator(".flame-canvases canvas").last().boundingBox();
	if (box) {
		for (const row of [1, 2, 3]) await page.mouse.move(box.x + box.width * 0.2, box.y + row * 20 - 5);
		await settled(page);
	}
	await page.emulateMedia({ media: "print" });
	await settled(page);
	await page.emulateMedia({ media: null });
	assert.equal(await page.evaluate(() => window.hacked), undefined);
	assert.equal(await elements(), before);
	assert.ok(!HIDDEN.test(await page.title()));
}

test("a program with hostile names has them as text everywhere", async (session) => {
	const page = await session.open("hostile");
	const doc = session.document("hostile");
	const names = doc.frames.map((frame) => frame.function ?? "");

	for (const part of ["<script>", "</script>", "onerror="]) assert.ok(names.some((name) => name.includes(part)), `${part} is in the recording`);
	assert.ok(doc.frames.some(({ file }) => file?.includes("<script>")));
	assert.ok(doc.process.argv.some((word) => word.includes("</script>")));
	await visit(session, page);
	await page.evaluate(() => window.seep.store.set({ tab: "stacks", search: "" }));
	await settled(page);
	assert.match(await table(page, "Call stacks").innerText(), /<img src=x onerror=/);
	await page.evaluate(() => window.seep.store.set({ tab: "about" }));
	await settled(page);
	assert.ok((await page.locator(".about").innerText()).includes("</script>"));
});

test("whatever text a file has, in any place, stays text", async (session) => {
	for (const name of ["tour", "diff"]) {
		const data = readData(session.path(name));
		let next = 0;
		const spoil = (value, key = "") => {
			// Words that views understand stay, so that each place is shown.
			if (typeof value === "string") return /^(kind|verdict|ended|measure|origin)$/.test(key) ? value : `${NASTY[next++ % NASTY.length]}${value.slice(0, 40)}`;
			if (Array.isArray(value)) return value.map((one) => spoil(one));
			if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, spoil(one, key)]));
			return value;
		};
		const bad = spoil(data);
		if (name === "tour") {
			bad.document.unseen = NASTY.map((text) => ({ code: text, detail: text }));
			bad.document.findings = NASTY.map((text) => ({ kind: text, text, hash: text, count: 2, thread: text, at_ns: 1, suppressed_by: text, here_frames: [0, 1], free_frames: [2], alloc_frames: NASTY }));
			Object.assign(bad.document.leaks[0], { evidence: NASTY[1], rule: NASTY[2], suppressed_by: NASTY[3], chain: NASTY.map((text) => ({ from: text, name: text, address: 1, offset: 2 })), flags: NASTY });
		}
		const page = await session.open(writeData(session.path(name), join(session.scratch, `hostile-${name}.html`), bad));
		await visit(session, page);
	}
});

// SPDX-License-Identifier: MIT
// Scopes: their figures, the flame graph with tags in front of stacks, and views of one tag.
import assert from "node:assert/strict";
import { test } from "./registry.mjs";
import { box, choose, measure, number, rows, settled, tab, table } from "./screen.mjs";

const WIDE = { viewport: { width: 1700, height: 900 } };

test("scopes stand below the ones around them, with own and inclusive figures", async (session) => {
	const page = await session.open("scopes", { hash: "scopes", ...WIDE });
	const doc = session.document("scopes");
	const shown = await rows(page, "Scopes");
	const byId = new Map(doc.scopes.map((scope) => [scope.id, scope]));
	const path = ({ tag, parent }) => (parent ? `${path(byId.get(parent))}/${tag}` : tag);

	assert.equal(shown[0].Scope.text, "tenant=globex");
	assert.deepEqual(
		shown.map((row) => [row.Scope.exact, number(row.Held.exact), number(row.Own.exact), number(row.Allocated.exact), number(row.Entries.exact)]).sort(),
		doc.scopes.map((scope) => [path(scope), scope.inclusive.held_bytes, scope.held_bytes, scope.inclusive.allocated_bytes, scope.entries]).sort(),
	);
	// Each is behind what is around it.
	for (const [at, row] of shown.entries())
		if (row.Scope.exact.includes("/")) assert.ok(shown.slice(0, at).some((one) => one.Scope.exact === row.Scope.exact.replace(/\/.*/, "")));
});

test("a scope opens to its times, and leads to its stacks and its part of the flame graph", async (session) => {
	const page = await session.open("scopes", { hash: "scopes", ...WIDE });
	const doc = session.document("scopes");
	const scope = doc.scopes.find(({ tag }) => tag === "tenant=globex");

	await table(page, "Scopes").locator(".grid-row").first().click();
	const bars = await page.locator(".grid-detail .histogram td:nth-child(2)").evaluateAll((cells) => cells.map((cell) => cell.title));
	assert.equal(bars.map(number).reduce((all, one) => all + one, 0), scope.entries);
	await page.getByRole("button", { name: "Call stacks under this tag" }).click();
	await measure(page, "allocated");
	const shown = await rows(page, "Call stacks");
	assert.deepEqual(shown.map((row) => row.Scope.exact).sort(), ["tenant=globex", "tenant=globex/parse", "tenant=globex/query"]);
	assert.equal(shown.reduce((all, row) => all + number(row.Allocated.exact), 0), scope.inclusive.allocated_bytes);
	await page.locator(".chip").click();
	assert.ok((await rows(page, "Call stacks")).length > 3);
});

test("the flame graph puts tags in front of stacks", async (session) => {
	const page = await session.open("scopes", { hash: "flame", wait: ".flame-pane", ...WIDE });
	const doc = session.document("scopes");

	await measure(page, "allocated");
	await page.getByRole("button", { name: "Scopes", exact: true }).click();
	await settled(page);
	await page.getByRole("tree").first().focus();
	for (const key of ["Home", "ArrowDown"]) await page.keyboard.press(key);
	await settled(page);
	const scope = doc.scopes.find(({ tag }) => tag === "tenant=globex");
	const { name, level, value } = await box(page);
	assert.deepEqual({ name, level, value }, { name: "tenant=globex", level: 2, value: scope.inclusive.allocated_bytes });
	await page.keyboard.press("ArrowDown");
	await settled(page);
	assert.equal((await box(page)).name, "query");
	await page.keyboard.press("ArrowDown");
	await settled(page);
	assert.equal((await box(page)).name, "main");
	await choose(page, "Scope", "parse");
	assert.equal((await box(page)).value, doc.scopes.filter(({ tag }) => tag === "parse").reduce((all, one) => all + one.allocated_bytes, 0));
	await tab(page, "Scopes");
});

// SPDX-License-Identifier: MIT
// Numbers are written as src/base/units.c writes them: its own unit test's tables are the truth.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./load.mjs";

const { bytes, count, digits, duration, percent, visible } = await load("format");
const source = readFileSync(new URL("../../tests/unit/test_units.c", import.meta.url), "utf8");

/** The cases of the table before the call that checks it by that function. */
function cases(name) {
	const until = source.indexOf(`check_format(${name}`);
	const from = source.lastIndexOf("format_case cases[]", until);
	const found = [...source.slice(from, until).matchAll(/\{ ([^"{}]+), "([^"]*)" \}/g)].map(([, value, text]) => [
		value.replace("UINT64_MAX", "2**64").replace(/(\d)ULL/g, "$1").split(" << "),
		text,
	]);
	return found
		.map(([[value, shift], text]) => [value.split(" + ").map((sum) => sum.split(" * ").reduce((a, b) => a * Number(b), 1)).reduce((a, b) => a + b) * 2 ** (shift ?? 0), text])
		.filter(([value]) => value <= Number.MAX_SAFE_INTEGER);
}

for (const [name, text] of [["seep_bytes_text", bytes], ["seep_count_text", count], ["seep_digits_text", digits], ["seep_duration_text", duration]])
	test(`${text.name} writes what ${name} writes`, () => {
		const table = cases(name);
		assert.ok(table.length >= 4, `${table.length} cases`);
		for (const [value, expected] of table) assert.equal(text(value), expected);
	});

test("percent is of a thousand, and never hides what is there", () => {
	assert.equal(percent(1, 3), "33.3%");
	assert.equal(percent(1, 100_000), "<0.1%");
	assert.equal(percent(0, 5), "0.0%");
	assert.equal(percent(5, 0), "–");
});

test("visible shows what has no shape", () => {
	assert.equal(visible("a\u202eb\u0007\u200b\u2028"), "a\\u{202e}b\\u{7}\\u{200b}\\u{2028}");
	assert.equal(visible("vector<…>::f(ü, 漢)"), "vector<…>::f(ü, 漢)");
});

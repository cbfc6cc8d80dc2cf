// SPDX-License-Identifier: MIT
// The data in a page, and pages with other data: docs/internals/page.md says what it is.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";

const DATA = /(<script id="seep-data" type="application\/gzip;base64">)([^<]*)(<)/;

/** { view, document } of the page at a path. */
export const readData = (path) => JSON.parse(gunzipSync(Buffer.from(DATA.exec(readFileSync(path, "utf8"))[2], "base64")));

/** A page like the one at `path` with any text in the place of its data. */
export function writeText(path, to, text) {
	writeFileSync(to, readFileSync(path, "utf8").replace(DATA, (_, before, __, after) => before + text + after));
	return to;
}

export const packed = (text) => gzipSync(text).toString("base64");

export const writeData = (path, to, data) => writeText(path, to, packed(typeof data === "string" ? data : JSON.stringify(data)));

/** Contexts of a page: frames innermost first, and how many of them stand for their caller. */
export function contextsOf({ view, document }) {
	const { count, stacks } = document.contexts;
	const found = [];
	let stack = [];

	for (let at = 0; at < stacks.length && found.length < count; ) {
		const [same, more] = [stacks[at], stacks[at + 1]];
		stack = [...stack.slice(0, same), ...stacks.slice(at + 2, at + 2 + more)];
		at += 2 + more;
		found.push({ index: found.length, frames: [...stack].reverse(), inner: view.trim[2 * found.length] });
	}
	return found;
}

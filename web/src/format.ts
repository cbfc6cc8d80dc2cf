// SPDX-License-Identifier: MIT
// Numbers and names for people, as src/base/units.c writes them. Null reads as a dash.

type Unit = [name: string, size: number];
const KB = 1024;
const BYTES: Unit[] = ["KB", "MB", "GB", "TB", "PB", "EB"].map((name, i) => [name, KB ** (i + 1)]);
const COUNTS: Unit[] = ["k", "M", "G", "T", "P", "E"].map((name, i) => [name, 1000 ** (i + 1)]);
const TIMES: Unit[] = [["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
const MINUS = "−";

/** In the greatest unit that it reaches after rounding: 1,048,575 bytes are "1.0 MB", not "1024 KB". */
function scale(value: number, units: Unit[]): string {
	const rounded = (size: number) => Math.floor(value / size + 0.5);
	let pick = 0;

	while (pick + 1 < units.length && rounded(units[pick][1]) >= units[pick + 1][1] / units[pick][1])
		pick++;
	const [name, size] = units[pick];
	const tenths = Math.floor((value * 10) / size + 0.5);
	return `${tenths < 1000 ? (tenths / 10).toFixed(1) : rounded(size)} ${name}`;
}

const signed = (value: number, text: (value: number) => string) =>
	value < 0 ? MINUS + text(-value) : text(value);

export function bytes(value: number | null | undefined): string {
	if (value == null) return "–";
	return signed(value, (v) => (v < KB ? `${v} B` : scale(v, BYTES)));
}

export function count(value: number | null | undefined): string {
	if (value == null) return "–";
	return signed(value, (v) => (v < 10000 ? `${v}` : scale(v, COUNTS)));
}

/** All digits: 1,234,567. */
export function digits(value: number | null | undefined): string {
	if (value == null) return "–";
	return signed(value, (v) => `${v}`.replace(/\B(?=(\d{3})+$)/g, ","));
}

export const exactBytes = (value: number | null | undefined) =>
	value == null ? "not known" : `${digits(value)} ${Math.abs(value) === 1 ? "byte" : "bytes"}`;

export const things = (value: number, thing: string) =>
	`${digits(value)} ${thing}${value === 1 ? "" : "s"}`;

/** With its sign, for differences. */
export const change = (value: number, text: (value: number) => string = bytes) =>
	(value > 0 ? "+" : "") + text(value);

export function percent(part: number, whole: number): string {
	if (!whole) return "–";
	const permille = Math.floor((Math.abs(part) * 1000) / Math.abs(whole) + 0.5);
	if (part !== 0 && permille === 0) return "<0.1%";
	return `${part < 0 ? MINUS : ""}${(permille / 10).toFixed(1)}%`;
}

function twoUnits(seconds: number, big: number, bigName: string, small: number, name: string) {
	const rest = Math.floor((seconds % big) / small);
	return `${Math.floor(seconds / big)} ${bigName}${rest ? ` ${rest} ${name}` : ""}`;
}

export function duration(ns: number | null | undefined): string {
	if (ns == null) return "–";
	if (ns < 0) return MINUS + duration(-ns);
	const seconds = Math.floor(ns / 1e9 + 0.5);
	if (ns < 1000) return `${ns} ns`;
	if (seconds < 60) return scale(ns, TIMES);
	if (seconds < 3600) return twoUnits(seconds, 60, "min", 1, "s");
	if (seconds < 86400) return twoUnits(seconds, 3600, "h", 60, "min");
	return twoUnits(seconds, 86400, "d", 3600, "h");
}

/** A moment of the wall clock, from nanoseconds since 1970, in the reader's zone. */
export function moment(ns: number | null | undefined): string {
	if (!ns) return "–";
	const date = new Date(ns / 1e6);
	const two = (n: number) => `${n}`.padStart(2, "0");
	return (
		`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
		`${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
	);
}

// Controls, bidi overrides and marks, zero-width characters and what else has no shape of its own.
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{fe00}-\u{fe0f}]/gu;

/** Hostile text, so that nothing in it can hide, turn the line round or break it. */
export function visible(text: string): string {
	return text.replace(UNSHOWN, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
}

/** The last part of a path. */
export const basename = (path: string) => path.slice(path.lastIndexOf("/") + 1) || path;

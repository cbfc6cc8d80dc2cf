// SPDX-License-Identifier: MIT
// Reading what may be anything. What is wrong reads as nothing, and is counted, so that the page can
// say that the file is damaged instead of failing.

export type Loose = Record<string, unknown>;

const SENTENCES_MAX = 20;

/** What was found to be wrong, by sentence, with how often. */
export class Damage {
	#counts = new Map<string, number>();

	note(what: string, times = 1): void {
		if (times > 0 && (this.#counts.has(what) || this.#counts.size < SENTENCES_MAX))
			this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
	}

	get sentences(): string[] {
		return [...this.#counts].map(([what, times]) => (times > 1 ? `${what} (${times} times)` : what));
	}
}

export const isObject = (value: unknown): value is Loose =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The object, or one without members. */
export const object = (value: unknown): Loose => (isObject(value) ? value : {});

export const array = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export const text = (value: unknown): string | null => (typeof value === "string" ? value : null);

/**
 * A count, size or time: what is no number from 0 to 2⁶⁴ reads as 0. Digits in a string are what
 * --json=strings writes.
 */
export function figure(value: unknown, damage?: Damage): number {
	if (typeof value === "number" && value >= 0 && value < 2 ** 64 + 1) return value;
	if (typeof value === "string" && /^[0-9]{1,20}$/.test(value)) return Number(value);
	if (value !== undefined && value !== null) damage?.note("a figure is no number that seep writes");
	return 0;
}

/** The same; null stays null: what is not known. */
export const known = (value: unknown): number | null => (value === null ? null : figure(value));

/** Is it an index below the limit? */
export const isIndex = (value: unknown, limit: number): value is number =>
	typeof value === "number" && value >= 0 && value < limit && Number.isInteger(value);

/** " ±0.4 MB" where the figure of @of, a context or totals, is an estimate. */
export function off(of: Loose, key: string, text: (value: number) => string): string {
	const error = figure(object(of.estimate)[key]);
	return error > 0 ? ` ±${text(error)}` : "";
}

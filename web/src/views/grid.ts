// SPDX-License-Identifier: MIT
// What a table is made of before it is drawn: columns, the order of its rows, and where each row is.
import type { ComponentChildren } from "preact";

export interface Column {
	key: string;
	title: string;
	/** What the header says in full. */
	hint?: string;
	/** A track of CSS grid. */
	width: string;
	num?: boolean;
	/** Left out on narrow screens; those of the second rank also on middling ones. */
	wide?: boolean | 2;
	/** What it sorts by. Numbers fall at first, texts rise. */
	value: (row: number) => number | string;
	cell: (row: number) => ComponentChildren;
	exact?: (row: number) => string;
}

export const ROW = 28;
export const ROW_NARROW = 46;
export const OVERSCAN = 8;
/** Browsers lay out no more than some millions of pixels. */
export const ROWS_MAX = 300_000;
/** What the columns need side by side. */
export function leastWidth(columns: Column[]): number {
	return columns.reduce((all, column) => all + Number(/(\d+)px/.exec(column.width)?.[1] ?? 0) + 4, 16);
}

export const narrowWidth = (width: string) => width.replace(/^\d{3}px/, "98px").replace(/minmax\(\d+px/, "minmax(0");

export interface Order {
	key: string;
	down: boolean;
}

export function sorted(rows: ArrayLike<number>, column: Column | undefined, down: boolean): number[] {
	if (!column) return Array.from(rows);
	const values = Array.from(rows, (row) => column.value(row));
	const places = Uint32Array.from(values, (_, at) => at);
	const sign = down ? -1 : 1;

	places.sort((a, b) => {
		const x = values[a];
		const y = values[b];
		return x < y ? -sign : x > y ? sign : a - b;
	});
	return Array.from(places, (at) => rows[at]);
}

export const fallsAtFirst = (column: Column | undefined) => column?.num === true;

/** A row whose details are open, and how tall they are. */
export interface OpenRow {
	at: number;
	extra: number;
}

/** Where rows begin, with the details that are open among them. */
export class Layout {
	readonly height: number;
	readonly #open: OpenRow[];

	constructor(
		readonly row: number,
		readonly count: number,
		open: OpenRow[],
	) {
		this.#open = open.sort((a, b) => a.at - b.at);
		this.height = this.top(count);
	}

	top(at: number): number {
		let top = at * this.row;
		for (const one of this.#open) {
			if (one.at >= at) break;
			top += one.extra;
		}
		return top;
	}

	/** The row at that height. */
	at(height: number): number {
		let low = 0;
		let high = this.count;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.top(middle + 1) <= height) low = middle + 1;
			else high = middle;
		}
		return low;
	}
}

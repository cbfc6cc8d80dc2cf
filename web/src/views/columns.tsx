// SPDX-License-Identifier: MIT
// The columns that tables are made of: figures with their exact values, shares, names.
import { bytes, count, digits, duration, exactBytes, visible } from "../format";
import type { Model } from "../model";
import type { Column } from "./grid";
import { contextPlace, ContextSite, Share } from "./parts";

type Of<T> = (row: number) => T;
type More = Partial<Column>;

const figures = (key: string, title: string, of: Of<number>, text: (value: number) => string, more: More): Column => ({
	key, title, num: true, wide: true, width: "88px", value: of, cell: (row) => text(of(row)), ...more,
});

export const sizes = (key: string, title: string, of: Of<number>, more: More = {}) =>
	figures(key, title, of, bytes, { exact: (row) => exactBytes(of(row)), ...more });

export const counts = (key: string, title: string, of: Of<number>, more: More = {}) =>
	figures(key, title, of, count, { exact: (row) => digits(of(row)), width: "76px", ...more });

/** With all their digits. */
export const numbers = (key: string, title: string, of: Of<number>, more: More = {}) =>
	figures(key, title, of, digits, { width: "76px", ...more });

export const times = (key: string, title: string, of: Of<number>, more: More = {}) =>
	figures(key, title, of, duration, more);

export const shares = (of: Of<number>, whole: number, more: More = {}) =>
	figures("share", "Share", of, String, { cell: (row) => <Share part={of(row)} whole={whole} />, width: "84px", ...more });

export const words = (key: string, title: string, of: Of<string>, more: More = {}): Column => ({
	key, title, wide: true, width: "100px", value: of, cell: of, ...more,
});

/** The column that a table is about, which narrow screens show too. */
export const main = (column: Column): Column => ({ ...column, wide: false, cell: (row) => <b>{column.cell(row)}</b> });

/** A program or the like with what it belongs to. */
export const named = (title: string, of: Of<string>, beside: Of<string>): Column => ({
	key: "name", title, width: "minmax(180px,1fr)", value: of,
	cell: (row) => (
		<span class="site">
			<span class="name"><b>{of(row)}</b></span> <span class="place">{beside(row)}</span>
		</span>
	),
});

/** The call stack of a context. */
export const stacks = (model: Model, context: Of<number>): Column => ({
	key: "name", title: "Call stack", width: "minmax(220px,1fr)",
	value: (row) => model.contextName(context(row)),
	cell: (row) => <ContextSite i={context(row)} />,
	exact: (row) => `${model.contextName(context(row))}  ${contextPlace(model, context(row))}`,
});

/** Threads, where they are recorded apart, and scopes, where there are any. */
export function threads(model: Model, context: Of<number>): Column[] {
	const { threads: names, threadOf } = model.contexts;
	const { scopes } = model;
	const scope = (row: number) => scopes.path(model.contexts.scopeOf[context(row)] ?? -1);
	return [
		...(names.list.length ? [words("thread", "Thread", (row) => visible(names.list[threadOf[context(row)]] ?? ""))] : []),
		...(scopes.rows.length ? [words("scope", "Scope", scope, { exact: scope, width: "140px" })] : []),
	];
}

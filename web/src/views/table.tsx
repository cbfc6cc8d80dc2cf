// SPDX-License-Identifier: MIT
// A table of any length: only the rows in sight are in the page. Sorted by its headers, moved through
// by keys, each row opens to its details.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce, copyText, useMedia, useNarrow, useSize } from "./hooks";

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

interface Props {
	label: string;
	columns: Column[];
	/** Numbers of rows, whatever they mean to the columns. */
	rows: ArrayLike<number>;
	sort: string;
	detail?: (row: number) => ComponentChildren;
	copy?: (row: number) => string;
	empty: ComponentChildren;
	/** At most so many rows tall, instead of filling the room. */
	most?: number;
	onPick?: (row: number, extend: boolean) => void;
	picked?: (row: number) => boolean;
	/** Opened and shown when it changes. */
	open?: number | null;
}

const ROW = 28;
const ROW_NARROW = 46;
const OVERSCAN = 8;
/** Browsers lay out no more than some millions of pixels. */
const ROWS_MAX = 300_000;
let tables = 0;

/** What the columns need side by side. */
function leastWidth(columns: Column[]): number {
	return columns.reduce((all, column) => all + Number(/(\d+)px/.exec(column.width)?.[1] ?? 0) + 4, 16);
}

const narrowWidth = (width: string) => width.replace(/^\d{3}px/, "98px").replace(/minmax\(\d+px/, "minmax(0");

interface Order {
	key: string;
	down: boolean;
}

function sorted(rows: ArrayLike<number>, column: Column | undefined, down: boolean): number[] {
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

const fallsAtFirst = (column: Column | undefined) => column?.num === true;

/** Where rows begin, with the details that are open among them. */
class Layout {
	readonly height: number;
	readonly #open: { at: number; extra: number }[];

	constructor(
		readonly row: number,
		readonly count: number,
		open: { at: number; extra: number }[],
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

function Detail(props: { top: number; size: (height: number) => void; children: ComponentChildren }) {
	const ref = useRef<HTMLDivElement>(null);
	const { height } = useSize(ref);

	useLayoutEffect(() => {
		if (height) props.size(height);
	}, [height]);
	return (
		<div class="grid-detail" role="row" style={{ transform: `translateY(${props.top}px)` }}>
			<div role="gridcell" ref={ref}>
				{props.children}
			</div>
		</div>
	);
}

function Header(props: { column: Column; order: Order; sort: (column: Column) => void }) {
	const { column, order } = props;
	const here = order.key === column.key;

	return (
		<div
			role="columnheader"
			class={column.num ? "num" : ""}
			aria-sort={here ? (order.down ? "descending" : "ascending") : "none"}
		>
			<button class="quiet" title={column.hint ?? column.title} onClick={() => props.sort(column)}>
				{column.title}
				<span aria-hidden="true" class="arrow">
					{here ? (order.down ? "▾" : "▴") : ""}
				</span>
			</button>
		</div>
	);
}

export function Table(props: Props) {
	const narrow = useNarrow();
	const id = useMemo(() => `grid${tables++}`, []);
	const scroller = useRef<HTMLDivElement>(null);
	const { height: viewHeight } = useSize(scroller);
	const [scrollTop, setScrollTop] = useState(0);
	const [order, setOrder] = useState<Order>({ key: props.sort, down: true });
	const [active, setActive] = useState(0);
	const [open, setOpen] = useState<ReadonlyMap<number, number>>(new Map());
	const middling = useMedia("(max-width: 1480px)");
	const columns = props.columns.filter((column) => !(narrow && column.wide) && !(middling && column.wide === 2));
	const by = props.columns.find((column) => column.key === order.key);
	const all = useMemo(() => sorted(props.rows, by, order.down), [props.rows, by, order.down]);
	const rows = all.length > ROWS_MAX ? all.slice(0, ROWS_MAX) : all;
	const rowHeight = narrow ? ROW_NARROW : ROW;
	const places = useMemo(() => {
		const found: { at: number; extra: number }[] = [];
		if (open.size) rows.forEach((row, at) => open.has(row) && found.push({ at, extra: open.get(row)! }));
		return found;
	}, [rows, open]);
	const layout = new Layout(rowHeight, rows.length, places);
	const head = narrow ? 34 : 30;
	const at = Math.min(active, rows.length - 1);

	useEffect(() => {
		const column = props.columns.find((one) => one.key === props.sort);
		setOrder({ key: props.sort, down: fallsAtFirst(column) });
	}, [props.sort]);

	useEffect(() => {
		if (props.open == null) return;
		const place = rows.indexOf(props.open);
		if (place < 0) return;
		setOpen(new Map([[props.open, 0]]));
		setActive(place);
		scroller.current!.scrollTop = Math.max(0, place * rowHeight - 40);
	}, [props.open]);

	function sortBy(column: Column): void {
		const down = order.key === column.key ? !order.down : fallsAtFirst(column);
		setOrder({ key: column.key, down });
		announce(`sorted by ${column.title}, ${down ? "falling" : "rising"}`);
	}

	function toggle(row: number, force?: boolean): void {
		if (!props.detail || (force !== undefined && open.has(row) === force)) return;
		const next = new Map(open);
		if (!next.delete(row)) next.set(row, 0);
		setOpen(next);
	}

	function move(to: number): void {
		const next = Math.max(0, Math.min(rows.length - 1, to));
		const element = scroller.current!;
		const top = layout.top(next);
		setActive(next);
		if (top < element.scrollTop) element.scrollTop = top;
		else if (top + rowHeight > element.scrollTop + viewHeight - head)
			element.scrollTop = top + rowHeight - viewHeight + head;
	}

	function key(event: KeyboardEvent): void {
		const page = Math.max(1, Math.floor((viewHeight - head) / rowHeight) - 1);
		const row = rows[at];
		if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
		const keys: Record<string, () => void> = {
			ArrowDown: () => move(at + 1),
			ArrowUp: () => move(at - 1),
			PageDown: () => move(at + page),
			PageUp: () => move(at - page),
			Home: () => move(0),
			End: () => move(rows.length - 1),
			ArrowRight: () => toggle(row, true),
			ArrowLeft: () => toggle(row, false),
			Enter: () => (props.onPick ? props.onPick(row, event.shiftKey) : toggle(row)),
			" ": () => (props.onPick ? props.onPick(row, event.shiftKey) : toggle(row)),
			c: () => props.copy && void copyText(props.copy(row)),
		};
		if (!keys[event.key] || row === undefined) return;
		keys[event.key]();
		event.preventDefault();
		event.stopPropagation();
	}

	const from = Math.max(0, layout.at(scrollTop) - OVERSCAN);
	const to = Math.min(rows.length, layout.at(scrollTop + Math.max(viewHeight, 200)) + OVERSCAN);
	const shown = [];
	for (let place = from; place < to; place++) {
		const row = rows[place];
		const isOpen = open.has(row);
		shown.push(
			<div
				key={row}
				id={`${id}-${row}`}
				role="row"
				class={`grid-row${place === at ? " active" : ""}${props.picked?.(row) ? " picked" : ""}`}
				aria-rowindex={place + 2}
				aria-level={props.detail ? 1 : undefined}
				aria-expanded={props.detail ? isOpen : undefined}
				aria-selected={props.picked ? props.picked(row) : undefined}
				style={{ transform: `translateY(${layout.top(place)}px)` }}
				onClick={(event) => {
					setActive(place);
					if (props.onPick) props.onPick(row, event.shiftKey);
					else if (getSelection()?.type !== "Range") toggle(row);
				}}
			>
				{columns.map((column, i) => (
					<div key={column.key} role="gridcell" class={column.num ? "num" : ""} title={column.exact?.(row)}>
						{i === 0 && props.detail && (
							<span class="twist" aria-hidden="true">
								{isOpen ? "▾" : "▸"}
							</span>
						)}
						{column.cell(row)}
					</div>
				))}
			</div>,
		);
		if (isOpen)
			shown.push(
				<Detail
					key={`detail ${row}`}
					top={layout.top(place) + rowHeight}
					size={(height) =>
						open.get(row) !== height && setOpen((old) => (old.has(row) ? new Map(old).set(row, height) : old))
					}
				>
					{props.detail!(row)}
				</Detail>,
			);
	}

	const tall = props.most ? Math.min(layout.height, props.most * rowHeight) + head + 2 : undefined;
	return (
		<div class={props.most ? "grid-box" : "grid-box fill"}>
			<div
				class="grid"
				ref={scroller}
				role={props.detail ? "treegrid" : "grid"}
				aria-label={props.label}
				aria-rowcount={rows.length + 1}
				aria-activedescendant={at >= from && at < to ? `${id}-${rows[at]}` : undefined}
				tabIndex={0}
				onKeyDown={key}
				onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
				style={{
					"--least": narrow ? "0" : `${leastWidth(columns)}px`,
					"--columns": columns.map((column) => (narrow ? narrowWidth(column.width) : column.width)).join(" "),
					"--row": `${rowHeight}px`,
					height: tall ? `${tall}px` : undefined,
				}}
			>
				<div class="grid-head" role="row" aria-rowindex={1}>
					{columns.map((column) => (
						<Header key={column.key} column={column} order={order} sort={sortBy} />
					))}
				</div>
				<div class="grid-body" role="rowgroup" style={{ height: `${layout.height}px` }}>
					{shown}
				</div>
				{rows.length === 0 && <p class="grid-empty">{props.empty}</p>}
			</div>
			{rows.length < all.length && (
				<p class="muted note">
					Only the first {ROWS_MAX.toLocaleString("en")} of {all.length.toLocaleString("en")} rows are listed; filters
					show the others.
				</p>
			)}
		</div>
	);
}

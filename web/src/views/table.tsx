// SPDX-License-Identifier: MIT
// A table of any length: only the rows in sight are in the page. Sorted by its headers, moved through
// by keys, each row opens to its details.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { digits } from "../format";
import {
	type Column, fallsAtFirst, Layout, leastWidth, narrowWidth, type OpenRow, type Order, OVERSCAN, ROW, ROW_NARROW, ROWS_MAX,
	sorted,
} from "./grid";
import { announce, copyText, useMedia, useNarrow, useSize } from "./hooks";

export type { Column };

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

let tables = 0;

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

interface RowProps {
	props: Props;
	row: number;
	id: string;
	place: number;
	top: number;
	columns: Column[];
	active: boolean;
	open: boolean;
	click: (extend: boolean) => void;
}

function Row({ props, row, id, place, top, columns, active, open, click }: RowProps) {
	const picked = props.picked?.(row);

	return (
		<div
			id={id}
			role="row"
			class={`grid-row${active ? " active" : ""}${picked ? " picked" : ""}`}
			aria-rowindex={place + 2}
			aria-level={props.detail ? 1 : undefined}
			aria-expanded={props.detail ? open : undefined}
			aria-selected={picked}
			style={{ transform: `translateY(${top}px)` }}
			onClick={(event) => click(event.shiftKey)}
		>
			{columns.map((column, i) => (
				<div key={column.key} role="gridcell" class={column.num ? "num" : ""} title={column.exact?.(row)}>
					{i === 0 && props.detail && (
						<span class="twist" aria-hidden="true">
							{open ? "▾" : "▸"}
						</span>
					)}
					{column.cell(row)}
				</div>
			))}
		</div>
	);
}

/** The rows in the order of a column, which the headers choose. */
function useOrder(props: Props) {
	const first = (key: string) => ({ key, down: fallsAtFirst(props.columns.find((column) => column.key === key)) });
	const [order, setOrder] = useState<Order>(() => first(props.sort));
	const by = props.columns.find((column) => column.key === order.key);
	const all = useMemo(() => sorted(props.rows, by, order.down), [props.rows, by, order.down]);
	const rows = useMemo(() => (all.length > ROWS_MAX ? all.slice(0, ROWS_MAX) : all), [all]);

	useEffect(() => setOrder(first(props.sort)), [props.sort]);

	function sortBy(column: Column): void {
		const down = order.key === column.key ? !order.down : fallsAtFirst(column);
		setOrder({ key: column.key, down });
		announce(`sorted by ${column.title}, ${down ? "falling" : "rising"}`);
	}

	return { order, rows, left: all.length - rows.length, sortBy };
}

/** Which rows show their details, and how tall these are. */
function useOpenRows(rows: number[]) {
	const [open, setOpen] = useState<ReadonlyMap<number, number>>(new Map());
	const places = useMemo(() => {
		const found: OpenRow[] = [];
		if (open.size) rows.forEach((row, at) => open.has(row) && found.push({ at, extra: open.get(row)! }));
		return found;
	}, [rows, open]);

	function toggle(row: number, wanted = !open.has(row)): void {
		const next = new Map(open);
		if (wanted === next.has(row)) return;
		if (wanted) next.set(row, 0);
		else next.delete(row);
		setOpen(next);
	}

	function size(row: number, height: number): void {
		setOpen((old) => (old.has(row) && old.get(row) !== height ? new Map(old).set(row, height) : old));
	}

	return { places, isOpen: (row: number) => open.has(row), toggle, size, only: (row: number) => setOpen(new Map([[row, 0]])) };
}

export function Table(props: Props) {
	const narrow = useNarrow();
	const middling = useMedia("(max-width: 1480px)");
	const id = useMemo(() => `grid${tables++}`, []);
	const scroller = useRef<HTMLDivElement>(null);
	const { height: viewHeight } = useSize(scroller);
	const [scrollTop, setScrollTop] = useState(0);
	const [active, setActive] = useState(0);
	const { order, rows, left, sortBy } = useOrder(props);
	const details = useOpenRows(rows);
	const columns = props.columns.filter((column) => !(narrow && column.wide) && !(middling && column.wide === 2));
	const rowHeight = narrow ? ROW_NARROW : ROW;
	const head = narrow ? 34 : 30;
	const layout = new Layout(rowHeight, rows.length, details.places);
	const at = Math.min(active, rows.length - 1);
	const from = Math.max(0, layout.at(scrollTop) - OVERSCAN);
	const to = Math.min(rows.length, layout.at(scrollTop + Math.max(viewHeight, 200)) + OVERSCAN);
	const tall = props.most ? Math.min(layout.height, props.most * rowHeight) + head + 2 : undefined;

	useEffect(() => {
		const place = props.open == null ? -1 : rows.indexOf(props.open);
		if (place < 0) return;
		details.only(props.open!);
		setActive(place);
		scroller.current!.scrollTop = Math.max(0, place * rowHeight - 40);
	}, [props.open]);

	function move(wanted: number): void {
		const next = Math.max(0, Math.min(rows.length - 1, wanted));
		const element = scroller.current!;
		const top = layout.top(next);
		setActive(next);
		if (top < element.scrollTop) element.scrollTop = top;
		else if (top + rowHeight > element.scrollTop + viewHeight - head)
			element.scrollTop = top + rowHeight - viewHeight + head;
	}

	function act(row: number, extend: boolean): void {
		if (props.onPick) props.onPick(row, extend);
		else if (props.detail) details.toggle(row);
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
			ArrowRight: () => props.detail && details.toggle(row, true),
			ArrowLeft: () => props.detail && details.toggle(row, false),
			Enter: () => act(row, event.shiftKey),
			" ": () => act(row, event.shiftKey),
			c: () => props.copy && void copyText(props.copy(row)),
		};
		if (!keys[event.key] || row === undefined) return;
		keys[event.key]();
		event.preventDefault();
		event.stopPropagation();
	}

	function click(place: number, extend: boolean): void {
		setActive(place);
		// Text that was just marked with the mouse stays marked.
		if (props.onPick || getSelection()?.type !== "Range") act(rows[place], extend);
	}

	function drawn(row: number, place: number): ComponentChildren[] {
		const top = layout.top(place);
		const common = { props, row, place, top, columns, active: place === at, open: details.isOpen(row) };
		return [
			<Row key={row} id={`${id}-${row}`} {...common} click={(extend) => click(place, extend)} />,
			common.open && (
				<Detail key={`detail ${row}`} top={top + rowHeight} size={(height) => details.size(row, height)}>
					{props.detail!(row)}
				</Detail>
			),
		];
	}

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
					"--columns": columns.map(({ width }) => (narrow ? narrowWidth(width) : width)).join(" "),
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
					{rows.slice(from, to).flatMap((row, i) => drawn(row, from + i))}
				</div>
				{rows.length === 0 && <p class="grid-empty">{props.empty}</p>}
			</div>
			{left > 0 && (
				<p class="muted note">
					The table lists {digits(rows.length)} rows; filters show some of the other {digits(left)}.
				</p>
			)}
		</div>
	);
}

// SPDX-License-Identifier: MIT
// Call stacks, and functions, as tables.
import { useMemo } from "preact/hooks";
import type { Facts } from "../facts";
import { bytes, count, digits, exactBytes, percent, visible } from "../format";
import { search } from "../flame/search";
import { useSeep } from "../state";
import { measureName, useRows } from "./filters";
import { ContextDetail, ContextSite, contextName, contextPlace, Place, Share, stackText, threadColumn } from "./parts";
import { type Column, Table } from "./table";

export function useFigureText() {
	const { model, state } = useSeep();
	return model.isBytes(state.measure)
		? { text: bytes, exact: exactBytes }
		: { text: count, exact: (value: number) => digits(value) };
}

/** One sentence of what the table lists. */
function Summary(props: { rows: number; of: number; value: number; total: number; what: string }) {
	const { text, exact } = useFigureText();

	return (
		<p class="summary" role="status">
			<b>{digits(props.rows)}</b> {props.what}
			{props.rows === 1 ? "" : "s"}
			{props.rows !== props.of && ` of ${digits(props.of)}`}:{" "}
			<b title={exact(props.value)}>{text(props.value)}</b>
			{props.total && props.value !== props.total ? `, ${percent(props.value, props.total)} of all` : ""}
		</p>
	);
}

export function Stacks({ facts }: { facts: Facts }) {
	const { model, state } = useSeep();
	const { rows, weights } = useRows();
	const { text, exact } = useFigureText();
	const bare = { ...state, thread: null, scope: null, module: null, epochs: null };
	const total = model.weigh(bare).total;
	const columns = useMemo((): Column[] => {
		const raw = (i: number, key: string) => model.contexts.figure(key, i);
		const size = (key: string, title: string, hint: string): Column => ({
			key, title, hint, num: true, wide: true, width: "84px",
			value: (i) => raw(i, key), cell: (i) => bytes(raw(i, key)), exact: (i) => exactBytes(raw(i, key)),
		});
		const number = (key: string, title: string, hint: string): Column => ({
			key, title, hint, num: true, wide: true, width: "76px",
			value: (i) => raw(i, key), cell: (i) => count(raw(i, key)), exact: (i) => digits(raw(i, key)),
		});
		const rare = (...of: Parameters<typeof number>): Column => ({ ...number(...of), wide: 2 });
		const others: Column[] = [
			size("live_bytes", "Live", "Bytes live at the end"),
			number("live_blocks", "Blocks", "Blocks live at the end"),
			size("peak_bytes", "Peak", "Bytes live at the peak of the process"),
			size("alloc_bytes", "Allocated", "Bytes allocated in all"),
			number("allocs", "Allocs", "Allocations in all"),
			rare("temporary", "Temporary", "Freed by the same thread before its next allocation"),
		];
		const own: Record<string, string> = { live: "live_bytes", peak: "peak_bytes", allocated: "alloc_bytes", temporary: "temporary" };
		return [
			{
				key: "name", title: "Call stack", width: "minmax(220px,1fr)",
				value: (i) => contextName(model, i), cell: (i) => <ContextSite i={i} />,
				exact: (i) => `${contextName(model, i)}  ${contextPlace(model, i)}`,
			},
			{
				key: "measure", title: measureName(state.measure, facts), num: true, width: "112px",
				value: (i) => weights.value[i], cell: (i) => <b>{text(weights.value[i])}</b>, exact: (i) => exact(weights.value[i]),
			},
			{
				key: "share", title: "Share", num: true, wide: true, width: "72px",
				value: (i) => weights.value[i], cell: (i) => <Share part={weights.value[i]} whole={weights.total} />,
			},
			...others.filter((column) => column.key !== own[state.measure] || state.epochs),
			{
				key: "freed", title: "Freed", hint: "Share of its blocks that were freed", num: true, wide: 2, width: "68px",
				value: (i) => raw(i, "frees") / Math.max(1, raw(i, "allocs")),
				cell: (i) => percent(raw(i, "frees"), raw(i, "allocs")),
				exact: (i) => `${digits(raw(i, "frees"))} of ${digits(raw(i, "allocs"))}`,
			},
			...threadColumn(model, (i) => i),
			{
				key: "kind", title: "Kind", hint: "The function that allocated", wide: 2, width: "76px",
				value: (i) => visible(model.contexts.kind(i)),
				cell: (i) => visible(model.contexts.kind(i)),
			},
		];
	}, [model, weights, state.measure, state.epochs]);
	const sum = rows.reduce((all, i) => all + weights.value[i], 0);

	return (
		<>
			<Summary rows={rows.length} of={model.contexts.count} value={sum} total={total} what="call stack" />
			<Table
				label="Call stacks"
				columns={columns}
				rows={rows}
				sort="measure"
				open={state.selected}
				detail={(i) => <ContextDetail i={i} />}
				copy={(i) => stackText(model, i)}
				empty="No call stack matches. Remove a filter or the search."
			/>
		</>
	);
}

export function Functions({ facts }: { facts: Facts }) {
	const { model, state, set } = useSeep();
	const weights = model.weigh(state);
	const table = useMemo(() => model.functionTable(weights), [model, weights]);
	const { of } = search(model, state.search.trim());
	const { text, exact } = useFigureText();
	const rows = useMemo(() => {
		const all = Uint32Array.from({ length: table.count }, (_, i) => i);
		return of ? all.filter((i) => of[table.fn[i]] === 1) : all;
	}, [table, of]);
	const columns = useMemo((): Column[] => {
		const name = (i: number) => model.functionName(table.fn[i]);
		const file = (i: number) => {
			const frame = model.frames.frameOf[table.fn[i]];
			return frame < 0 ? "" : model.frames.file(frame) || model.frames.module(frame);
		};
		return [
			{
				key: "name", title: "Function", width: "minmax(220px,1fr)", value: name,
				cell: (i) => (
					<span class="site">
						<span class="name"><b>{name(i)}</b></span>
						<Place of={file(i)} />
					</span>
				),
				exact: (i) => `${name(i)}  ${file(i)}`,
			},
			{
				key: "self", title: "Own", hint: "Of stacks on which it is the function to blame", num: true, width: "96px",
				value: (i) => table.self[i], cell: (i) => <b>{text(table.self[i])}</b>, exact: (i) => exact(table.self[i]),
			},
			{
				key: "selfShare", title: "Share", num: true, wide: true, width: "84px", value: (i) => table.self[i],
				cell: (i) => <Share part={table.self[i]} whole={weights.width} />,
			},
			{
				key: "inclusive", title: "With callees", hint: "Of all stacks that it is on", num: true, width: "112px",
				value: (i) => table.inclusive[i], cell: (i) => text(table.inclusive[i]), exact: (i) => exact(table.inclusive[i]),
			},
			{
				key: "share", title: "Share", num: true, wide: true, width: "84px", value: (i) => table.inclusive[i],
				cell: (i) => <Share part={table.inclusive[i]} whole={weights.width} />,
			},
			{
				key: "stacks", title: "Stacks", hint: "How many call stacks it is on", num: true, wide: true, width: "76px",
				value: (i) => table.stacks[i], cell: (i) => digits(table.stacks[i]),
			},
		];
	}, [table, weights]);

	return (
		<>
			<p class="summary" role="status">
				<b>{digits(rows.length)}</b> {rows.length === 1 ? "function" : "functions"} by {measureName(state.measure, facts).toLowerCase()}
			</p>
			<Table
				label="Functions"
				columns={columns}
				rows={rows}
				sort="self"
				detail={(i) => <FunctionDetail fn={table.fn[i]} />}
				copy={(i) => `${model.functionName(table.fn[i])}\n`}
				empty="No function matches. Remove a filter or the search."
			/>
		</>
	);

	function FunctionDetail({ fn }: { fn: number }) {
		const lines = model.lines(weights, fn);
		const frame = model.frames.frameOf[fn];

		return (
			<div class="detail one">
				{frame >= 0 && <p class="code break">{model.frameText(frame).name}</p>}
				<table class="plain">
					<caption class="hidden-text">By line of this function</caption>
					<thead>
						<tr>
							<th>Line</th>
							<th class="num">{measureName(state.measure, facts)}</th>
							<th class="num">Share</th>
						</tr>
					</thead>
					<tbody>
						{lines.slice(0, 40).map((line) => (
							<tr key={line.frame}>
								<td class="code break">{line.place || model.frames.module(line.frame)}</td>
								<td class="num" title={exact(line.value)}>{text(line.value)}</td>
								<td class="num">{percent(line.value, weights.width)}</td>
							</tr>
						))}
					</tbody>
				</table>
				<p class="row-buttons">
					<button onClick={() => set({ function: fn, tab: "flame" })}>Callers and callees</button>
					<button onClick={() => set({ search: model.functionName(fn), tab: "stacks" })}>Its call stacks</button>
				</p>
			</div>
		);
	}
}

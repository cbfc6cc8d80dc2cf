// SPDX-License-Identifier: MIT
// Call stacks, and functions, as tables.
import { useMemo } from "preact/hooks";
import type { Facts } from "../facts";
import { bytes, count, digits, exactBytes, percent, visible } from "../format";
import { search } from "../flame/search";
import { useSeep } from "../state";
import { counts, main, numbers, shares, sizes, stacks, words, threads } from "./columns";
import { measureName, useRows } from "./filters";
import { ContextDetail, Place, stackText } from "./parts";
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
		const raw = (key: string) => (i: number) => model.contexts.figure(key, i);
		const of = (i: number) => weights.value[i];
		const [allocs, frees] = [raw("allocs"), raw("frees")];
		const name = measureName(state.measure, facts);
		const own: Record<string, string> = { live: "live_bytes", peak: "peak_bytes", allocated: "alloc_bytes", temporary: "temporary" };
		const others = [
			sizes("live_bytes", "Live", raw("live_bytes"), { hint: "Bytes live at the end" }),
			counts("live_blocks", "Blocks", raw("live_blocks"), { hint: "Blocks live at the end" }),
			sizes("peak_bytes", "Peak", raw("peak_bytes"), { hint: "Bytes live at the peak of the process" }),
			sizes("alloc_bytes", "Allocated", raw("alloc_bytes"), { hint: "Bytes allocated in all" }),
			counts("allocs", "Allocs", allocs, { hint: "Allocations in all" }),
			counts("temporary", "Temporary", raw("temporary"), { hint: "Freed by the same thread before its next allocation", wide: 2 }),
		];
		return [
			stacks(model, (i) => i),
			main({ ...sizes("measure", name.length < 14 ? name : "Live", of, { width: "112px", hint: name }), cell: (i) => text(of(i)), exact: (i) => exact(of(i)) }),
			shares(of, weights.total, { width: "72px" }),
			...others.filter((column) => model.knows(column.key) && (column.key !== own[state.measure] || state.epochs)),
			...(model.knows("frees") ? [{
				...numbers("freed", "Freed", (i) => frees(i) / Math.max(1, allocs(i)), { hint: "Share of its blocks that were freed", wide: 2 }),
				cell: (i: number) => percent(frees(i), allocs(i)),
				exact: (i: number) => `${digits(frees(i))} of ${digits(allocs(i))}`,
			}] : []),
			...threads(model, (i) => i),
			words("kind", "Kind", (i) => visible(model.contexts.kind(i)), { hint: "The function that allocated", wide: 2 }),
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
		const own = (i: number) => table.self[i];
		const all = (i: number) => table.inclusive[i];
		const figure = (key: string, title: string, of: (i: number) => number) =>
			sizes(key, title, of, { cell: (i) => text(of(i)), exact: (i) => exact(of(i)) });
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
			main({ ...figure("self", "Own", own), hint: "Of stacks on which it is the function to blame" }),
			shares(own, weights.width, { key: "selfShare" }),
			{ ...figure("inclusive", "With callees", all), hint: "Of all stacks that it is on", wide: false, width: "112px" },
			shares(all, weights.width),
			numbers("stacks", "Stacks", (i) => table.stacks[i], { hint: "How many call stacks it is on" }),
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

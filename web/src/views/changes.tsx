// SPDX-License-Identifier: MIT
// A diff: what changed, in words and as a table.
import { useMemo, useState } from "preact/hooks";
import { type Facts, said } from "../facts";
import { basename, bytes, change, count, digits, duration, exactBytes, moment, percent, things, visible } from "../format";
import type { Model } from "../model";
import { array, figure, isIndex, object } from "../model/read";
import { useSeep } from "../state";
import { main, numbers, sizes, stacks, words } from "./columns";
import { searched } from "./filters";
import { EVERYTHING, largest, More } from "./overview";
import { Change, ContextSite, Figures, Site, Stack, stackText, Verdict } from "./parts";
import { type Column, Table } from "./table";

const MEASURES: Record<string, [key: string, words: string]> = {
	live: ["live_bytes", "live bytes"],
	peak: ["peak_bytes", "bytes at the peak"],
	allocs: ["allocs", "allocations"],
	temporary: ["temporary", "temporary allocations"],
};
const VERDICTS = ["NEW", "GROWN", "HELD", "SHRUNK", "GONE"];

interface Diff {
	words: string;
	text: (value: number) => string;
	exact: (value: number) => string;
	marks: boolean;
	before: number;
	after: number;
	verdictOf: (i: number) => string;
}

function diffOf(facts: Facts, model: Model): Diff {
	const { doc } = facts;
	const [key, words] = MEASURES[String(doc.measure)] ?? MEASURES.live;
	const inBytes = key.endsWith("bytes");
	const totals = object(doc.totals);

	return {
		words,
		text: inBytes ? bytes : count,
		exact: inBytes ? exactBytes : digits,
		marks: doc.before == null,
		before: figure(object(totals.before)[key]),
		after: figure(object(totals.after)[key]),
		verdictOf: (i) => said(model.contexts.row(i).verdict) ?? "",
	};
}

/** "12 grown by 3.1 MB, 2 gone with 40 KB". */
function sumsByVerdict(model: Model, diff: Diff): { verdict: string; stacks: number; change: number }[] {
	const sums = VERDICTS.map((verdict) => ({ verdict, stacks: 0, change: 0 }));

	for (let i = 0; i < model.contexts.count; i++) {
		const sum = sums.find((one) => one.verdict === diff.verdictOf(i));
		if (!sum) continue;
		sum.stacks++;
		sum.change += model.contexts.value("live", i);
	}
	return sums.filter((sum) => sum.stacks > 0);
}

function answer(facts: Facts, model: Model, diff: Diff): string {
	const delta = diff.after - diff.before;
	const stacks = things(model.contexts.count, "call stack");

	if (diff.marks) {
		const after = object(object(facts.doc.totals).after);
		const mark = (value: unknown) => said(object(value).name) ?? `the mark at epoch ${figure(object(value).epoch)}`;
		const rounds = figure(facts.doc.round_count);
		const held = `${bytes(figure(after.live_bytes))} in ${things(figure(after.live_blocks), "block")} of ${stacks}`;
		if (facts.doc.from == null) return `${held}: held of each of ${things(rounds, "round")}`;
		const [from, until] = [mark(facts.doc.from), mark(facts.doc.until)];
		return `${held}: allocated ${facts.doc.until == null ? `since ${from}` : `between ${from} and ${until}`}, and still alive`;
	}
	if (!model.contexts.count) return "No call stack differs";
	const [before, after] = [diff.text(diff.before), diff.text(diff.after)];
	const how = delta > 0 ? "more" : diff.text === bytes ? "less" : "fewer";
	return delta
		? `${diff.text(Math.abs(delta))} ${how}: ${diff.words} went from ${before} to ${after}`
		: `The sum is the same, ${after}, but ${stacks} ${model.contexts.count === 1 ? "differs" : "differ"}`;
}

function Side({ name, side }: { name: string; side: unknown }) {
	const of = object(side);

	return (
		<div>
			<dt>{name}</dt>
			<dd class="break">{basename(said(of.name) ?? said(of.exe) ?? "not known")}</dd>
			<dd class="muted">
				{basename(said(of.exe) ?? "")} {figure(of.pid) || ""}, {moment(figure(of.start_realtime_ns))}
			</dd>
		</div>
	);
}

const ROWS: [key: string, name: string][] = [
	["live_bytes", "Live bytes"],
	["live_blocks", "Live blocks"],
	["peak_bytes", "Peak"],
	["allocs", "Allocations"],
	["alloc_bytes", "Allocated bytes"],
	["frees", "Frees"],
	["temporary", "Temporary"],
];

function TotalsTable({ facts }: { facts: Facts }) {
	const totals = object(facts.doc.totals);
	const before = totals.before == null ? null : object(totals.before);
	const after = object(totals.after);

	return (
		<table class="plain totals-table">
			<thead>
				<tr>
					<td />
					{before && <th class="num">Before</th>}
					<th class="num">{before ? "After" : "Held"}</th>
					{before && <th class="num">Change</th>}
				</tr>
			</thead>
			<tbody>
				{ROWS.filter(([key]) => after[key] !== undefined).map(([key, name]) => {
					const text = key.endsWith("bytes") ? bytes : count;
					const [a, b] = [figure(before?.[key]), figure(after[key])];
					return (
						<tr key={key}>
							<th scope="row">{name}</th>
							{before && <td class="num" title={digits(a)}>{text(a)}</td>}
							<td class="num" title={digits(b)}>{text(b)}</td>
							{before && <td class="num"><Change of={b - a} text={text} /></td>}
						</tr>
					);
				})}
			</tbody>
		</table>
	);
}

const LEAKS_SHOWN = 10;

/** Of leaks, also where less is lost in all: what was repaired would hide what is new. */
function LeakChanges({ facts }: { facts: Facts }) {
	const { model, set } = useSeep();
	const { doc } = facts;
	const blind = ["before", "after"].filter((side) => object(doc[side]).not_scanned != null);

	if (doc.before == null) return null;
	if (doc.leaks == null)
		return (
			<section class="card leak-changes">
				<h2>Leaks are not compared</h2>
				{blind.length > 0 && (
					<p class="muted">
						{blind.length > 1 ? "Neither side was scanned" : `${blind[0]} was not scanned`}: {said(object(doc[blind[blind.length - 1]]).not_scanned)}
					</p>
				)}
			</section>
		);
	const leaks = object(doc.leaks);
	const all = array(leaks.changes).map(object);
	const [same, left] = [figure(leaks.same), figure(leaks.left_out)];
	const trim = array(object(model.view).leak_trim);
	const frameCount = array(doc.frames).length;
	const rows = all.slice(0, LEAKS_SHOWN).map((row, i) => {
		const frames = array(row.frames).filter((one): one is number => isIndex(one, frameCount));
		const part = frames.slice(figure(trim[2 * i]), frames.length - figure(trim[2 * i + 1]));
		const [before, after] = [row.before, row.after].map((side) => figure(object(side).live_bytes));
		return { verdict: said(row.verdict) ?? "", hash: row.hash, frames: part.length ? part : frames, before, after };
	});
	const words = VERDICTS.flatMap((verdict) => {
		const count = all.filter((row) => row.verdict === verdict).length;
		return count ? `${digits(count)} ${verdict.toLowerCase()}` : [];
	});
	// What is lost is alive: its change is most often among those of what lives.
	const show = (hash: unknown) => {
		for (let i = 0; i < model.contexts.count; i++)
			if (model.contexts.row(i).hash === hash) return set({ tab: "changes", selected: i });
	};

	const more = all.some((row) => row.verdict === "NEW" || row.verdict === "GROWN");

	if (same) words.push(`${digits(same)} as before`);
	return (
		<section class={`card leak-changes ${more ? "leak" : ""}`}>
			<h2>{more && <span class="sign" aria-hidden="true">▲</span>}Leaks: {words.join(", ") || "none, before and after"}</h2>
			<table class="plain">
				<thead class="hidden-text"><tr><th>Change</th><th>Factor</th><th>Verdict</th><th>Call stack</th></tr></thead>
				<tbody>
					{rows.map((row, i) => (
						<tr key={i} onClick={() => show(row.hash)}>
							<td class="num" title={`${exactBytes(row.before)} → ${exactBytes(row.after)}`}>
								<button class="link"><Change of={row.after - row.before} text={bytes} /></button>
							</td>
							<td class="num muted">{row.before && row.after > 1.5 * row.before ? `×${factor(row.after / row.before)}` : ""}</td>
							<td><Verdict word={row.verdict} /></td>
							<td><Site frames={row.frames} /></td>
						</tr>
					))}
				</tbody>
			</table>
			{all.length + left > rows.length && <p class="muted">and {things(all.length + left - rows.length, "more change")}</p>}
		</section>
	);
}

const factor = (of: number) => (of < 10 ? String(Number(of.toPrecision(2))) : digits(Math.floor(of)));

export function DiffOverview({ facts }: { facts: Facts }) {
	const { model, set } = useSeep();
	const diff = diffOf(facts, model);
	const left = object(facts.doc.left_out);
	const { value } = model.weigh({ ...EVERYTHING, measure: "live" });
	const delta = diff.after - diff.before;

	return (
		<div class="overview">
			<div class="main">
				<section class={`card answer ${diff.marks || delta > 0 ? "leak" : "none"}`}>
					<h2>
						<span class="sign" aria-hidden="true">{diff.marks ? "■" : delta > 0 ? "↗" : delta < 0 ? "↘" : "="}</span>
						{answer(facts, model, diff)}
					</h2>
					<p class="verdict-sums">
						{sumsByVerdict(model, diff).map((sum) => (
							<span key={sum.verdict}>
								<Verdict word={sum.verdict} /> {things(sum.stacks, "call stack")}, {diff.marks ? diff.text(sum.change) : <Change of={sum.change} text={diff.text} />}
							</span>
						))}
					</p>
				</section>
				<LeakChanges facts={facts} />
				<section class="card largest">
					<h2>{diff.marks ? "Largest of what is held" : `Largest changes of ${diff.words}`}</h2>
					<table class="plain">
						<thead class="hidden-text"><tr><th>Change</th><th>Verdict</th><th>Call stack</th></tr></thead>
						<tbody>
							{largest(value, 10).map((i) => (
								<tr key={i} onClick={() => set({ tab: "changes", selected: i })}>
									<td class="num">
										<button class="link">{diff.marks ? diff.text(value[i]) : <Change of={value[i]} text={diff.text} />}</button>
									</td>
									<td><Verdict word={diff.verdictOf(i)} /></td>
									<td><ContextSite i={i} /></td>
								</tr>
							))}
						</tbody>
					</table>
					<More tab="changes">{`All ${things(model.contexts.count, diff.marks ? "call stack" : "change")}`}</More>
				</section>
			</div>
			<div class="side">
				<section class="card">
					<TotalsTable facts={facts} />
				</section>
				<section class="card">
					<dl class="sides">
						{facts.doc.before != null && <Side name="Before" side={facts.doc.before} />}
						<Side name={facts.doc.before != null ? "After" : "Process"} side={facts.doc.after} />
					</dl>
				</section>
				{figure(left.changes) + figure(left.partial) + figure(left.undated_blocks) > 0 && (
					<section class="card">
						<h2>Left out</h2>
						<ul>
							{figure(left.changes) > 0 && <li>{things(figure(left.changes), "smaller change")} (--top)</li>}
							{figure(left.partial) > 0 && <li>{things(figure(left.partial), "call stack")} that hold {bytes(figure(left.partial_bytes))} of some rounds only</li>}
							{figure(left.undated_blocks) > 0 && <li>{things(figure(left.undated_blocks), "live block")} that marks cannot tell apart</li>}
						</ul>
					</section>
				)}
				{facts.unseen.length > 0 && (
					<section class="card unseen">
						<h2>Not seen</h2>
						<ul>{facts.unseen.slice(0, 3).map((one, i) => <li key={i}>{one.side && <b>{one.side}: </b>}{one.detail}</li>)}</ul>
						<More tab="about">All of it</More>
					</section>
				)}
			</div>
		</div>
	);
}

export function Changes({ facts }: { facts: Facts }) {
	const { model, state } = useSeep();
	const diff = useMemo(() => diffOf(facts, model), [facts, model]);
	const [chosen, choose] = useState("");
	const keep = useMemo(() => searched(model, state.search), [model, state.search]);
	const weights = model.weigh(state);
	const rows = useMemo(
		() => Uint32Array.from({ length: model.contexts.count }, (_, i) => i).filter(
			(i) => (!keep || keep[i]) && (!weights.keep || weights.keep[i]) && (!chosen || diff.verdictOf(i) === chosen)),
		[model, keep, weights, chosen],
	);
	const columns = useMemo((): Column[] => {
		const before = (i: number) => model.contexts.before[i];
		const after = (i: number) => model.contexts.after[i];
		const difference = (i: number) => after(i) - before(i);
		const blocks = (i: number, side: string) => figure(object(model.contexts.row(i)[side]).live_blocks);
		const figures = (key: string, title: string, of: (i: number) => number) =>
			sizes(key, title, of, { cell: (i) => diff.text(of(i)), exact: (i) => diff.exact(of(i)) });
		const verdict: Column = {
			key: "verdict", title: "Verdict", width: "104px",
			value: (i) => VERDICTS.indexOf(diff.verdictOf(i)), cell: (i) => <Verdict word={diff.verdictOf(i)} />,
		};
		const kind = words("kind", "Kind", (i) => visible(model.contexts.kind(i)));
		if (diff.marks)
			return [
				stacks(model, (i) => i), verdict, main(figures("after", "Held", after)),
				numbers("blocks", "Blocks", (i) => blocks(i, "after")), kind,
			];
		return [
			stacks(model, (i) => i),
			verdict,
			figures("before", "Before", before),
			figures("after", "After", after),
			main({
				...sizes("change", "Change", (i) => Math.abs(difference(i)), { hint: "The largest first, whatever its sign", width: "104px" }),
				cell: (i) => <Change of={difference(i)} text={diff.text} />,
				exact: (i) => change(difference(i), diff.exact),
			}),
			{
				...numbers("ratio", "Of before", (i) => (before(i) ? after(i) / before(i) : Infinity), { width: "92px" }),
				cell: (i) => (before(i) ? percent(after(i), before(i)) : "–"),
			},
			{
				...numbers("blocks", "Blocks", (i) => blocks(i, "after") - blocks(i, "before"), { width: "120px" }),
				cell: (i) => `${count(blocks(i, "before"))} → ${count(blocks(i, "after"))}`,
				exact: (i) => `${digits(blocks(i, "before"))} → ${digits(blocks(i, "after"))}`,
			},
			kind,
		];
	}, [model, diff]);
	const sum = rows.reduce((all, i) => all + weights.value[i], 0);

	return (
		<>
			<div class="choices controls" role="group" aria-label="Verdicts">
				<button aria-pressed={!chosen} onClick={() => choose("")}>All</button>
				{sumsByVerdict(model, diff).map((one) => (
					<button key={one.verdict} aria-pressed={chosen === one.verdict} onClick={() => choose(one.verdict)}>
						<Verdict word={one.verdict} /> <span class="badge">{digits(one.stacks)}</span>
					</button>
				))}
			</div>
			<p class="summary" role="status">
				<b>{digits(rows.length)}</b> {rows.length === 1 ? "call stack" : "call stacks"}: {diff.marks ? `${diff.text(sum)} held` : <><Change of={sum} text={diff.text} /> of {diff.words}</>}
			</p>
			<Table label="Changes" columns={columns} rows={rows} sort={diff.marks ? "after" : "change"} open={state.selected}
				detail={(i) => <ChangeDetail i={i} />} copy={(i) => stackText(model, i)}
				empty={model.contexts.count ? "No change matches. Remove a filter or the search." : "No call stack differs."} />
		</>
	);
}

function ChangeDetail({ i }: { i: number }) {
	const { model } = useSeep();
	const raw = model.contexts.row(i);
	const [before, after] = [object(raw.before), object(raw.after)];
	const rounds = array(raw.rounds).map(object);
	const blocks = array(raw.block_list).map(object);

	return (
		<div class="detail">
			<Stack context={i} />
			<div>
				<Figures
					of={[
						...ROWS.filter(([key]) => after[key] !== undefined || before[key] !== undefined).map(([key, name]): [string, preact.ComponentChildren] => {
							const text = key.endsWith("bytes") ? bytes : count;
							return [name, raw.before == null ? text(figure(after[key])) : <>{text(figure(before[key]))} → {text(figure(after[key]))}</>];
						}),
						["Hash", <code>{said(raw.hash)}</code>],
					]}
				/>
				{rounds.length > 1 && <p>Held of each round: {rounds.slice(0, 50).map((one) => bytes(figure(one.bytes))).join(", ")}</p>}
				{blocks.length > 0 && (
					<details>
						<summary>{things(blocks.length, "block")}</summary>
						<ul class="blocks">{blocks.slice(0, 1000).map((one, at) => <li key={at}><code>0x{figure(one.address).toString(16)}</code> {bytes(figure(one.size))}</li>)}</ul>
					</details>
				)}
			</div>
		</div>
	);
}

export const diffFacts = (facts: Facts) => {
	const side = (value: unknown) => basename(said(object(value).exe) ?? said(object(value).name) ?? "");
	const [before, after] = [facts.doc.before, facts.doc.after].map((one) => (one == null ? "" : `${side(one)}${object(one).pid === null ? "" : ` ${figure(object(one).pid)}`}`));
	return before ? `${before} → ${after}` : `${after}${facts.doc.from ? `, since ${said(object(facts.doc.from).name) ?? duration(0)}` : ""}`;
};

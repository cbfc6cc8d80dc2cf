// SPDX-License-Identifier: MIT
// The first view: is there a leak, where, how much, since when; what grows; where the memory is.
import { useMemo } from "preact/hooks";
import { after, type Facts, type GrowthRow, type LeakRow, said, sinceWords } from "../facts";
import { basename, bytes, count, digits, duration, exactBytes, percent, things, visible } from "../format";
import { array, figure, known, object, off } from "../model/read";
import type { Model } from "../model";
import { type Measure, type Tab, useSeep } from "../state";
import { growthWords, noGrowth, rateOf, whenWords } from "./growth";
import { answerOf, withAll } from "./leaks";
import { Misuse } from "./misuse";
import { Bytes, Count, nameOf, Share, Site, Unknown, Verdict } from "./parts";
import { useMedia, useNarrow } from "./hooks";
import { epochSpan, Plot } from "./plot";
import { useEpochSums } from "./timeline";

/**
 * What belongs to one place, whatever thread allocated it, the largest first. Leaks are of one place
 * whatever library code they went through (`whole` false), call stacks as in text.
 */
function byPlace<T>(model: Model, whole: boolean, items: T[], context: (item: T) => number, key: (item: T) => string, size: (item: T) => number) {
	const places = new Map<string, { items: T[]; bytes: number; context: number }>();

	for (const item of items) {
		const i = context(item);
		const frames = i >= 0 ? Array.from(model.contexts.frames(i, whole)) : [];
		const lines = frames.map((frame) => `${model.frames.functionOf[frame]}:${model.frames.lineOf[frame]}`);
		const name = `${key(item)} ${lines.length ? lines.join(" ") : `context ${i}`}`;
		const place = places.get(name) ?? { items: [], bytes: 0, context: i };
		place.items.push(item);
		place.bytes += size(item);
		places.set(name, place);
	}
	return [...places.values()].sort((a, b) => b.bytes - a.bytes);
}

type Place<T> = ReturnType<typeof byPlace<T>>[number];

export function More(props: { tab: Tab; children: string }) {
	const { set } = useSeep();
	return (
		<button class="link more controls" onClick={() => set({ tab: props.tab })}>
			{props.children} <span aria-hidden="true">→</span>
		</button>
	);
}

function threadsOf(model: Model, contexts: number[]): string {
	const names = [...new Set(contexts.flatMap((i) => model.contexts.threads.list[model.contexts.threadOf[i]] ?? []))];
	if (!names.length) return "";
	return names.length < 3 ? `${names.length === 1 ? "thread" : "threads"} ${names.map(visible).join(", ")}` : things(names.length, "thread");
}

function LeakPlace({ place, facts }: { place: Place<LeakRow>; facts: Facts }) {
	const { model, set } = useSeep();
	const [leak] = place.items;
	const blocks = place.items.reduce((all, one) => all + one.blocks + one.withBlocks, 0);
	const threads = threadsOf(model, place.items.map((one) => one.context));
	const [frame] = leak.frames;

	return (
		<li class="finding">
			<div class="amount">
				<b title={exactBytes(place.bytes)}>{bytes(place.bytes)}</b>
				<Verdict word={leak.verdict} />
			</div>
			<div>
				<p class="where">
					<button class="link" onClick={() => set({ tab: "leaks", search: "", selected: leak.context })}>
						<b>{frame === undefined ? "(no stack)" : nameOf(model, frame)}</b>
					</button>{" "}
					{frame !== undefined && <code class="break">{model.frames.place(frame)}</code>}
				</p>
				<p class="muted">
					{leak.frames.slice(1, 4).map((one) => `← ${nameOf(model, one)}`).join(" ")}
				</p>
				<p class="muted">
					{[things(blocks, "block"), threads, sinceWords(facts, leak.context)].filter(Boolean).join(" · ")}
				</p>
			</div>
		</li>
	);
}

function Answer({ facts, print }: { facts: Facts; print?: boolean }) {
	const { model } = useSeep();
	const answer = answerOf(facts);
	const sign = <span class="sign" aria-hidden="true">{answer.sign === "leak" ? "▲" : answer.sign === "none" ? "✓" : "?"}</span>;
	const [first, second] = facts.lead.length ? facts.lead : [answer.text];
	const certain = facts.roots.length > 0;
	const keyOf = (leak: LeakRow) => (leak.context < 0 ? `${leak.index}` : leak.verdict);
	const places = byPlace(model, false, certain ? facts.roots : facts.doubtful, (leak) => leak.context, keyOf, withAll);
	const most = print ? 10 : 3;
	const more = things(places.length - most, "more place");

	return (
		<section class={`card answer ${answer.sign}`} aria-labelledby={print ? undefined : "answer"}>
			<h2 id={print ? undefined : "answer"}>
				{facts.scanned && sign}
				{first}
			</h2>
			{second && <p class="second">{!facts.scanned && sign}{second}</p>}
			<ol>
				{places.slice(0, most).map((place) => (
					<LeakPlace key={place.items[0].index} place={place} facts={facts} />
				))}
			</ol>
			{facts.leaks.length > 0 && (
				<More tab="leaks">
					{places.length > most ? `${more}, and why` : places.length ? "Evidence and stacks" : "All verdicts"}
				</More>
			)}
		</section>
	);
}

function GrowthPlace({ place, facts }: { place: Place<GrowthRow>; facts: Facts }) {
	const { model, set } = useSeep();
	const [row] = place.items;
	const frames = model.contexts.frames(row.context, false);
	const allocs = place.items.reduce((all, one) => all + model.contexts.figure("allocs", one.context), 0);
	const freed = place.items.reduce((all, one) => all + model.contexts.figure("frees", one.context), 0);
	const first = place.items.reduce((a, b) => (b.sinceNs < a.sinceNs ? b : a));

	return (
		<li class="finding">
			<div class="amount">
				<b title={exactBytes(place.bytes)}>{row.verdict === "GROWING" ? rateOf(...place.items) : bytes(place.bytes)}</b>
				<Verdict word={row.verdict} />
			</div>
			<div>
				<p class="where">
					<button class="link" onClick={() => set({ tab: "growth", search: "", selected: row.context })}><b>{model.contextName(row.context)}</b></button>{" "}
					{frames.length > 0 && <code class="break">{model.frames.place(frames[0])}</code>}
				</p>
				<p class="muted">
					{[
						row.verdict === "GROWING" ? `by ${bytes(place.bytes)}` : "",
						whenWords(facts, first),
						`${percent(freed, allocs)} of its blocks ever freed`,
						threadsOf(model, place.items.map((one) => one.context)),
						place.items.every((one) => one.returned) ? "then given back" : "",
					].filter(Boolean).join(" · ")}
				</p>
			</div>
		</li>
	);
}

function Grows({ facts }: { facts: Facts }) {
	const { model } = useSeep();
	const places = byPlace(model, true, facts.growth, (row) => row.context, (row) => row.verdict, (row) => row.bytes);
	const most = 3;

	if (!places.length) return <section class="card grows"><h2>{noGrowth(facts)}</h2></section>;
	return (
		<section class="card grows leak">
			<h2><span class="sign" aria-hidden="true">↗</span>{growthWords(facts)}</h2>
			<ol>{places.slice(0, most).map((place) => <GrowthPlace key={place.context} place={place} facts={facts} />)}</ol>
			{places.length > most && <More tab="growth">{things(places.length - most, "more place")}</More>}
		</section>
	);
}

function Totals({ facts }: { facts: Facts }) {
	const totals = object(facts.doc.totals);
	const process = object(facts.doc.process);
	const f = (key: string) => known(totals[key]);
	const [live, usable, blocks] = [f("live_bytes"), f("usable_bytes"), f("live_blocks")];
	const counted = f("counted_allocs") !== null;
	const [peak, allocs, temporary, threads] = [
		f("peak_bytes"), f(counted ? "counted_allocs" : "allocs"), f("temporary"), f("threads"),
	];
	const length = (facts.ranNs ?? 0) / 1e9;
	const peakAt = f("peak_at_ns");
	const error = f("peak_error_bytes");
	const rss = process.peak_rss_bytes;

	return (
		<dl class="totals">
			<div>
				<dt>{facts.live}</dt>
				<dd><Bytes of={live} />{off(totals, "live_bytes", bytes)}</dd>
				{blocks !== null && <dd class="muted">{things(blocks, "block")}</dd>}
			</div>
			<div>
				<dt>Peak</dt>
				<dd><Bytes of={peak} />{off(totals, "peak_bytes", bytes)}</dd>
				{peak !== null && <dd class="muted">
					{peakAt ? `after ${after(facts, peakAt)}` : "time not known"}
					{totals.peak_exact !== true && error ? `, ±${bytes(error)}` : ""}
				</dd>}
			</div>
			<div>
				<dt>Allocations</dt>
				<dd><Count of={allocs} /></dd>
				{allocs !== null && <dd class="muted">
					{bytes(f(counted ? "counted_alloc_bytes" : "alloc_bytes"))}
					{length >= 1 ? `, ${count(Math.round(allocs / length))}/s` : ""}
				</dd>}
			</div>
			<div>
				<dt>Temporary</dt>
				<dd>{temporary === null || allocs === null ? <Unknown /> : percent(temporary, f("allocs") ?? 0)}</dd>
				{temporary !== null && <dd class="muted">{count(temporary)} allocations</dd>}
			</div>
			<div>
				<dt>Resident peak</dt>
				<dd><Bytes of={rss == null ? null : figure(rss)} /></dd>
				{threads !== null && <dd class="muted">{things(threads, "thread")}</dd>}
			</div>
			<div>
				<dt>Overhead</dt>
				<dd><Bytes of={usable === null || live === null ? null : Math.max(0, usable - live)} /></dd>
				{usable !== null && live !== null && <dd class="muted">of live blocks</dd>}
			</div>
		</dl>
	);
}

function Largest({ facts, most }: { facts: Facts; most: number }) {
	const { model, set } = useSeep();
	const measure = model.mainMeasure;
	const weights = model.weigh({ ...EVERYTHING, measure });
	const places = useMemo(() => {
		// Those of one stack by several threads are one row: look at more than are shown.
		const some = largest(weights.value, model.contexts.threads.list.length > 1 ? 2000 : most);
		return byPlace(model, true, some, (i) => i, (i) => model.contexts.kind(i), (i) => weights.value[i]);
	}, [model, weights, most]);

	return (
		<section class="card largest">
			<h2>Largest call stacks, by bytes {measure === "live" ? facts.live.toLowerCase() : BYTES_OF[measure]}</h2>
			<table class="plain">
				<thead class="hidden-text">
					<tr><th>Bytes</th><th>Share</th><th>Call stack</th></tr>
				</thead>
				<tbody>
					{places.slice(0, most).map((place) => (
						<tr key={place.context} onClick={() => set({ tab: "stacks", measure, selected: place.context })}>
							<td class="num" title={exactBytes(place.bytes)}>
								<button class="link">{bytes(place.bytes)}</button>
							</td>
							<td class="num narrow"><Share part={place.bytes} whole={weights.total} /></td>
							<td><Site frames={model.contexts.frames(place.context, false)} name={model.contextName(place.context)} /></td>
						</tr>
					))}
				</tbody>
			</table>
			{places.length === 0 && <p class="muted">None: nothing was allocated, or all of it was freed.</p>}
			{weights.count > most && <More tab="stacks">{`All ${digits(weights.count)} call stacks`}</More>}
		</section>
	);
}

/** Bars with names: what lives by thread, or by when it was allocated. */
function Bars(props: { title: string; rows: { name: string; value: number; pick: () => void }[]; most: number; fold: string }) {
	const total = props.rows.reduce((all, row) => all + row.value, 0);
	const top = Math.max(1, ...props.rows.map((row) => row.value));
	const shown = props.rows.slice(0, props.most);
	const rest = props.rows.slice(props.most);

	if (props.rows.length < 2 || total <= 0) return null;
	return (
		<section class="card bars">
			<h2>{props.title}</h2>
			<ul>
				{shown.map((row, i) => (
					<li key={i}>
						<button class="link" title={row.name} onClick={row.pick}>{row.name}</button>
						<span class="track" aria-hidden="true"><span class="solid" style={{ width: `${(100 * row.value) / top}%` }} /></span>
						<span class="num" title={exactBytes(row.value)}>{bytes(row.value)}</span>
					</li>
				))}
			</ul>
			{rest.length > 0 && (
				<p class="muted">
					and {bytes(rest.reduce((all, row) => all + row.value, 0))} of {digits(rest.length)} more {props.fold}
				</p>
			)}
		</section>
	);
}

function Ages({ facts }: { facts: Facts }) {
	const { set } = useSeep();
	const sums = useEpochSums(facts);
	const rows = facts.epochs.map((epoch, i) => ({
		name: epochSpan(facts, i),
		value: sums.bytes[i],
		pick: () => set({ tab: "timeline", measure: "live", epochs: [epoch.number, epoch.number] }),
	}));

	return <Bars title="When what lives was allocated" rows={rows} most={8} fold="epochs" />;
}

function Threads() {
	const { model, set } = useSeep();
	const weights = model.weigh({ ...EVERYTHING, measure: model.mainMeasure });
	const sums = model.contexts.threads.list.map((thread) => ({
		name: visible(thread),
		value: 0,
		pick: () => set({ tab: "stacks", thread }),
	}));

	for (let i = 0; i < model.contexts.count; i++) {
		const at = model.contexts.threadOf[i];
		if (at >= 0) sums[at].value += weights.value[i];
	}
	sums.sort((a, b) => b.value - a.value);
	return <Bars title={`Threads, by bytes ${BYTES_OF[weights.measure]}`} rows={sums} most={5} fold="threads" />;
}

/** No filters. */
export const EVERYTHING = { thread: null, scope: null, module: null, epochs: null };

/** What the bytes are that the page begins with. */
const BYTES_OF: Partial<Record<Measure, string>> = { live: "live", peak: "at the peak", allocated: "allocated" };

/** Indexes of the largest values, without sorting all. */
export function largest(values: Float64Array, most: number): number[] {
	const found: number[] = [];

	for (let i = 0; i < values.length; i++) {
		const size = Math.abs(values[i]);
		if (!size || (found.length === most && size <= Math.abs(values[found[most - 1]]))) continue;
		let at = found.length;
		while (at > 0 && Math.abs(values[found[at - 1]]) < size) at--;
		found.splice(at, 0, i);
		if (found.length > most) found.pop();
	}
	return found;
}

/** Pixels between the margins of A4. */
const PAPER_WIDTH = 640;

function Course({ facts, print }: { facts: Facts; print?: boolean }) {
	const { set } = useSeep();

	if (facts.timeline.length < 2) return null;
	return (
		<section class="card course">
			<h2>Live bytes over {duration(facts.ranNs)}</h2>
			<div onClick={() => !print && set({ tab: "timeline" })}>
				<Plot facts={facts} height={132} width={print ? PAPER_WIDTH : undefined} what="bytes" small />
			</div>
			<More tab="timeline">Timeline</More>
		</section>
	);
}

/** The memory may be in another process of the run. */
function OtherProcesses({ facts }: { facts: Facts }) {
	const others = array(object(facts.doc.run).others)
		.map(object)
		.sort((a, b) => figure(b.peak_bytes) - figure(a.peak_bytes));

	if (!others.length) return null;
	return (
		<section class="card">
			<h2>{others.length === 1 ? "Another process" : `${digits(others.length)} other processes`} of this run, by peak</h2>
			<ul class="others">
				{others.slice(0, 3).map((one, i) => (
					<li key={i} title={said(one.recording) ?? ""}>
						<span><b>{basename(said(one.exe) ?? "not known")}</b> <span class="muted">{figure(one.pid)}</span></span>
						<span class="num">{bytes(figure(one.peak_bytes))}</span>
						<span class="num muted">{bytes(figure(one.live_bytes))} live</span>
					</li>
				))}
			</ul>
			<More tab="processes">All of them</More>
		</section>
	);
}

function Unseen({ facts }: { facts: Facts }) {
	const { model } = useSeep();
	const damage = model.damage;

	if (!facts.unseen.length && !damage.length) return null;
	return (
		<section class="card unseen">
			<h2>Not seen</h2>
			<ul>
				{damage.slice(0, 2).map((text) => <li key={text} class="warn">Damaged: {text}</li>)}
				{facts.unseen.slice(0, 3).map((one) => <li key={one.code + one.detail}>{one.detail}</li>)}
			</ul>
			<More tab="about">{facts.unseen.length + damage.length > 3 ? `All ${facts.unseen.length + damage.length}` : "About the recording"}</More>
		</section>
	);
}

export function Overview({ facts, print }: { facts: Facts; print?: boolean }) {
	const narrow = useNarrow();
	const tall = useMedia("(min-height: 1000px)");

	return (
		<div class="overview">
			<div class="main">
				<Misuse facts={facts} print={print} />
				<Answer facts={facts} print={print} />
				<Grows facts={facts} />
				<Largest facts={facts} most={print ? 20 : narrow ? 5 : tall ? 16 : facts.growth.length && facts.roots.length ? 6 : 12} />
			</div>
			<div class="side">
				<Totals facts={facts} />
				<Course facts={facts} print={print} />
				<Ages facts={facts} />
				<Threads />
				<OtherProcesses facts={facts} />
				<Unseen facts={facts} />
			</div>
		</div>
	);
}

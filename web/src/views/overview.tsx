// SPDX-License-Identifier: MIT
// The first view: is there a leak, where, how much, since when; what grows; where the memory is.
import { after, type Facts, type LeakRow, sinceWords } from "../facts";
import { bytes, count, digits, duration, exactBytes, percent, things } from "../format";
import { figure, object } from "../model/read";
import type { Model } from "../model";
import { type Tab, useSeep } from "../state";
import { growthWords, NoGrowth, rateOf, whenWords } from "./growth";
import { answerOf, withAll } from "./leaks";
import { Bytes, Count, contextName, nameOf, Share, Site, Verdict } from "./parts";
import { Plot } from "./plot";
import { useNarrow } from "./hooks";

/** Leaks of one place, whatever thread allocated them. */
interface Place {
	leaks: LeakRow[];
	bytes: number;
	blocks: number;
}

function placesOf(facts: Facts): Place[] {
	const places = new Map<string, Place>();

	for (const leak of facts.roots) {
		const key = `${leak.verdict} ${leak.frames.join(" ")}`;
		const place = places.get(key) ?? { leaks: [], bytes: 0, blocks: 0 };
		place.leaks.push(leak);
		place.bytes += withAll(leak);
		place.blocks += leak.blocks + leak.withBlocks;
		places.set(key, place);
	}
	return [...places.values()].sort((a, b) => b.bytes - a.bytes);
}

export function More(props: { tab: Tab; children: string }) {
	const { set } = useSeep();
	return (
		<button class="link more controls" onClick={() => set({ tab: props.tab })}>
			{props.children} <span aria-hidden="true">→</span>
		</button>
	);
}

function threadsOf(model: Model, leaks: LeakRow[]): string {
	const names = new Set(leaks.flatMap((leak) => model.contexts.threads.list[model.contexts.threadOf[leak.context]] ?? []));
	return names.size === 0 ? "" : names.size < 4 ? `thread ${[...names].join(", ")}` : things(names.size, "thread");
}

function LeakPlace({ place, facts }: { place: Place; facts: Facts }) {
	const { model, set } = useSeep();
	const [leak] = place.leaks;
	const threads = threadsOf(model, place.leaks);
	const [frame] = leak.frames;

	return (
		<li class="finding">
			<div class="amount">
				<b title={exactBytes(place.bytes)}>{bytes(place.bytes)}</b>
				<Verdict word={leak.verdict} />
			</div>
			<div>
				<p class="where">
					<button class="link" onClick={() => set({ tab: "leaks", search: "" })}>
						<b>{frame === undefined ? "(no stack)" : nameOf(model, frame)}</b>
					</button>{" "}
					{frame !== undefined && <code class="break">{model.frames.place(frame)}</code>}
				</p>
				<p class="muted">
					{leak.frames.slice(1, 4).map((one) => `← ${nameOf(model, one)}`).join(" ")}
				</p>
				<p class="muted">
					{[things(place.blocks, "block"), threads, sinceWords(facts, leak.context)].filter(Boolean).join(" · ")}
				</p>
			</div>
		</li>
	);
}

function Answer({ facts, print }: { facts: Facts; print?: boolean }) {
	const { model } = useSeep();
	const answer = answerOf(facts, model);
	const places = placesOf(facts);
	const most = print ? 10 : 3;

	return (
		<section class={`card answer ${answer.sign}`} aria-labelledby={print ? undefined : "answer"}>
			<h2 id={print ? undefined : "answer"}>
				<span class="sign" aria-hidden="true">
					{answer.sign === "leak" ? "▲" : answer.sign === "none" ? "✓" : "?"}
				</span>
				{answer.text}
			</h2>
			<ol>
				{places.slice(0, most).map((place) => (
					<LeakPlace key={place.leaks[0].index} place={place} facts={facts} />
				))}
			</ol>
			{facts.leaks.length > 0 && (
				<More tab="leaks">{places.length > most ? `${digits(places.length - most)} more places, and why they are leaks` : facts.roots.length ? "Evidence and stacks" : "All verdicts"}</More>
			)}
		</section>
	);
}

function Grows({ facts }: { facts: Facts }) {
	const { model, set } = useSeep();
	const most = 3;

	return (
		<section class={`card grows ${facts.growth.length ? "leak" : ""}`}>
			<h2>{facts.growth.length ? <><span class="sign" aria-hidden="true">↗</span>{growthWords(facts)}</> : "Nothing grows"}</h2>
			{facts.growth.length === 0 && <p class="muted"><NoGrowth facts={facts} /></p>}
			<ol>
				{facts.growth.slice(0, most).map((row) => {
					const frames = model.contexts.frames(row.context, false);
					return (
						<li class="finding" key={row.context}>
							<div class="amount">
								<b title={exactBytes(row.bytes)}>{row.verdict === "GROWING" ? rateOf(row) : bytes(row.bytes)}</b>
								<Verdict word={row.verdict} />
							</div>
							<div>
								<p class="where">
									<button class="link" onClick={() => set({ tab: "growth", search: "" })}><b>{contextName(model, row.context)}</b></button>{" "}
									{frames.length > 0 && <code class="break">{model.frames.place(frames[0])}</code>}
								</p>
								<p class="muted">
									{bytes(row.bytes)} · {whenWords(facts, row)} · {percent(row.freedShare, 1)} ever freed
								</p>
							</div>
						</li>
					);
				})}
			</ol>
			{facts.growth.length > most && <More tab="growth">{`${digits(facts.growth.length - most)} more`}</More>}
		</section>
	);
}

function Totals({ facts }: { facts: Facts }) {
	const totals = object(facts.doc.totals);
	const process = object(facts.doc.process);
	const f = (key: string) => figure(totals[key]);
	const length = (facts.endNs - facts.startNs) / 1e9;
	const peakAt = f("peak_at_ns");
	const error = f("peak_error_bytes");

	return (
		<dl class="totals">
			<div>
				<dt>{facts.running ? "Live now" : "Live at exit"}</dt>
				<dd><Bytes of={f("live_bytes")} /></dd>
				<dd class="muted">{things(f("live_blocks"), "block")}</dd>
			</div>
			<div>
				<dt>Peak</dt>
				<dd><Bytes of={f("peak_bytes")} /></dd>
				<dd class="muted">
					{peakAt ? `after ${after(facts, peakAt)}` : "time not known"}
					{totals.peak_exact !== true && error ? `, ±${bytes(error)}` : ""}
				</dd>
			</div>
			<div>
				<dt>Allocations</dt>
				<dd><Count of={f("allocs")} /></dd>
				<dd class="muted">
					{bytes(f("alloc_bytes"))}
					{length >= 1 ? `, ${count(Math.round(f("allocs") / length))}/s` : ""}
				</dd>
			</div>
			<div>
				<dt>Temporary</dt>
				<dd>{percent(f("temporary"), f("allocs"))}</dd>
				<dd class="muted">{count(f("temporary"))} allocations</dd>
			</div>
			<div>
				<dt>Resident peak</dt>
				<dd><Bytes of={process.peak_rss_bytes == null ? null : figure(process.peak_rss_bytes)} /></dd>
				<dd class="muted">{things(f("threads"), "thread")}</dd>
			</div>
			<div>
				<dt>Overhead</dt>
				<dd><Bytes of={Math.max(0, f("usable_bytes") - f("live_bytes"))} /></dd>
				<dd class="muted">of live blocks</dd>
			</div>
		</dl>
	);
}

function Largest({ facts, most }: { facts: Facts; most: number }) {
	const { model, set } = useSeep();
	const measure = figure(object(facts.doc.totals).live_bytes) ? "live" : "peak";
	const weights = model.weigh({ measure, thread: null, scope: null, module: null, epochs: null });
	const rows = largest(weights.value, most);

	return (
		<section class="card largest">
			<h2>Largest call stacks, {measure === "live" ? (facts.running ? "by live bytes" : "by bytes live at exit") : "by bytes at the peak"}</h2>
			<table class="plain">
				<thead class="hidden-text">
					<tr><th>Bytes</th><th>Share</th><th>Call stack</th></tr>
				</thead>
				<tbody>
					{rows.map((i) => (
						<tr key={i} onClick={() => set({ tab: "stacks", measure, selected: i })}>
							<td class="num" title={exactBytes(weights.value[i])}>
								<button class="link" onClick={() => set({ tab: "stacks", measure, selected: i })}>{bytes(weights.value[i])}</button>
							</td>
							<td class="num narrow"><Share part={weights.value[i]} whole={weights.total} /></td>
							<td><Site frames={model.contexts.frames(i, false)} name={contextName(model, i)} /></td>
						</tr>
					))}
				</tbody>
			</table>
			<More tab="stacks">{`All ${digits(weights.count)} call stacks`}</More>
		</section>
	);
}

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

function Course({ facts, print }: { facts: Facts; print?: boolean }) {
	const { set } = useSeep();

	if (facts.timeline.length < 2) return null;
	return (
		<section class="card course">
			<h2>Live bytes over {duration(facts.endNs - facts.startNs)}</h2>
			<div onClick={() => !print && set({ tab: "timeline" })}>
				<Plot facts={facts} height={132} what="bytes" small />
			</div>
			<More tab="timeline">Timeline</More>
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

	return (
		<div class="overview">
			<div class="main">
				<Answer facts={facts} print={print} />
				<Grows facts={facts} />
				<Largest facts={facts} most={print ? 20 : narrow ? 5 : 6} />
			</div>
			<div class="side">
				<Totals facts={facts} />
				<Course facts={facts} print={print} />
				<Unseen facts={facts} />
			</div>
		</div>
	);
}

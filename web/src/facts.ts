// SPDX-License-Identifier: MIT
// What the views ask of the document beyond the model's columns: epochs, leaks, growth, the run's
// course. Read with the same care as the model: a file can hold anything.
import { basename, duration, visible } from "./format";
import type { Model } from "./model";
import { array, figure, isIndex, isObject, type Loose, object, text } from "./model/read";

export const LOST = ["LOST", "LOST-CYCLE", "LOST-WITH"];
const LEAKS_MAX = 200_000;

export interface Epoch {
	number: number;
	fromNs: number;
	toNs: number;
	/** Of the mark that began it; null where that has none, and of the first. */
	name: string | null;
	exact: boolean;
}

export interface LeakRow {
	index: number;
	verdict: string;
	flags: string[];
	/** Index into the contexts, or -1. */
	context: number;
	/** Index into the leaks, or -1. */
	root: number;
	blocks: number;
	bytes: number;
	withBlocks: number;
	withBytes: number;
	rule: string | null;
	evidence: string | null;
	suppressedBy: string | null;
	chain: Loose[];
	blockList: Loose[];
	/** The part of the stack that is worth reading, innermost first. */
	readonly frames: number[];
}

export interface GrowthRow {
	context: number;
	verdict: string;
	confidence: string;
	bytes: number;
	rate: number;
	freedShare: number;
	sinceNs: number;
	untilNs: number;
	returned: boolean;
	staleBlocks: number;
	evidence: string;
}

export interface Facts {
	diff: boolean;
	model: Model;
	doc: Loose;
	title: string;
	/** Of a report; zeros where not known. */
	startNs: number;
	endNs: number;
	/** How long it ran; null where not known. */
	ranNs: number | null;
	running: boolean;
	/** What was done wrong with blocks; what is suppressed comes last. */
	findings: Loose[];
	/** What everything that shows the profile begins with: the leak scan's answer, and where to start. */
	lead: string[];
	/** Another tool made the profile. */
	imported: boolean;
	/** Whether leaks were looked for; what was found then is all that there is. */
	scanned: boolean;
	/** Whether growth was. */
	judged: boolean;
	/** What the bytes are that live in the end: "Live at exit". */
	live: string;
	epochs: Epoch[];
	leaks: LeakRow[];
	/** Leaks that count: lost, and not kept by another. */
	roots: LeakRow[];
	/** What may be lost. */
	doubtful: LeakRow[];
	growth: GrowthRow[];
	unseen: { code: string; detail: string; side: string | null }[];
	timeline: { at: number; live: number; rss: number; allocs: number; frees: number }[];
	marks: { name: string | null; at: number }[];
}

/** By how the process ended, as src/view/view.c says it. */
const LIVE: Record<string, string> = {
	running: "Live now",
	exit: "Live at exit",
	signal: "Live when it died",
	killed: "Live when it died",
	exec: "Live at exec",
	detached: "Live when it was detached from",
};

/** Text of the document, made visible; null where there is none. */
export function said(value: unknown): string | null {
	const raw = text(value);
	return raw === null ? null : visible(raw);
}

export const saidOf = (list: unknown): string[] =>
	array(list).flatMap((item) => (typeof item === "string" ? [visible(item)] : []));

function epochsOf(doc: Loose, startNs: number, endNs: number): Epoch[] {
	const epochs: Epoch[] = [{ number: 0, fromNs: startNs, toNs: endNs, name: null, exact: true }];
	const marks = array(doc.marks)
		.map(object)
		.filter((mark) => typeof mark.epoch === "number")
		.sort((a, b) => figure(a.at_ns) - figure(b.at_ns));

	for (const mark of marks) {
		const at = figure(mark.at_ns);
		epochs[epochs.length - 1].toNs = at;
		epochs.push({
			number: figure(mark.epoch),
			fromNs: at,
			toNs: endNs,
			name: said(mark.name),
			exact: mark.exact === true,
		});
	}
	return epochs;
}

function leaksOf(model: Model, doc: Loose): LeakRow[] {
	const frameCount = array(doc.frames).length;

	return array(doc.leaks)
		.slice(0, LEAKS_MAX)
		.map((item, index) => {
			const leak = object(item);
			const number = figure(leak.context) - 1;
			const context = isIndex(number, model.contexts.count) ? number : -1;
			return {
				index,
				verdict: said(leak.verdict) ?? "unknown",
				flags: saidOf(leak.flags),
				context,
				root: isIndex(leak.root, array(doc.leaks).length) ? leak.root : -1,
				blocks: figure(leak.blocks),
				bytes: figure(leak.bytes),
				withBlocks: figure(leak.with_blocks),
				withBytes: figure(leak.with_bytes),
				rule: said(leak.rule),
				evidence: said(leak.evidence),
				suppressedBy: said(leak.suppressed_by),
				chain: array(leak.chain).filter(isObject),
				blockList: array(leak.block_list).filter(isObject),
				// There are many leaks, and few that are looked at.
				get frames(): number[] {
					if (context >= 0) return [...model.contexts.frames(context, false)];
					return array(leak.frames).filter((frame): frame is number => isIndex(frame, frameCount));
				},
			};
		});
}

function growthOf(model: Model): GrowthRow[] {
	const rows: GrowthRow[] = [];

	for (let context = 0; context < model.contexts.count; context++) {
		const growth = model.contexts.growth(context);
		const verdict = said(growth?.verdict);
		if (!growth || !verdict) continue;
		rows.push({
			context,
			verdict,
			confidence: said(growth.confidence) ?? "",
			bytes: figure(growth.bytes),
			rate: typeof growth.bytes_per_s === "number" ? growth.bytes_per_s : 0,
			freedShare: typeof growth.freed_share === "number" ? growth.freed_share : 0,
			sinceNs: figure(growth.since_ns),
			untilNs: figure(growth.until_ns),
			returned: growth.returned === true,
			staleBlocks: figure(growth.stale_blocks),
			evidence: said(growth.evidence) ?? "",
		});
	}
	return rows.sort((a, b) => b.bytes - a.bytes);
}

export const isCounted = (finding: Loose) => finding.suppressed_by == null;

export function gather(model: Model): Facts {
	const doc = object(model.doc);
	const process = object(doc.process);
	const diff = object(model.view).kind === "diff";
	const timeline = array(doc.timeline)
		.map(object)
		.map((sample) => ({
			at: figure(sample.at_ns),
			live: figure(sample.live_bytes),
			rss: figure(sample.rss_bytes),
			allocs: figure(sample.allocs),
			frees: figure(sample.frees),
		}))
		.filter((sample) => sample.at > 0)
		.sort((a, b) => a.at - b.at);
	const startNs = figure(process.start_ns);
	const last = timeline.length ? timeline[timeline.length - 1].at : startNs;
	const endNs = process.end_ns == null ? last : figure(process.end_ns);
	const leaks = diff ? [] : leaksOf(model, doc);
	const file = object(model.view).file;
	const scan = object(doc.scan);
	const trim = array(object(model.view).finding_trim);
	const findings = array(doc.findings).map((one, i): Loose => ({ ...object(one), trim: [trim[2 * i], trim[2 * i + 1]] }));
	const counted = findings.filter(isCounted);
	const unseen = array(doc.unseen)
		.map(object)
		.map((one) => ({
			code: said(one.code) ?? "",
			detail: said(one.detail) ?? "",
			side: said(one.side),
		}));

	return {
		diff,
		model,
		doc,
		title: diff ? saidOf(file).join(" → ") : basename(said(process.exe) ?? said(file) ?? "recording"),
		startNs,
		endNs,
		ranNs: endNs > startNs ? endNs - startNs : null,
		running: process.ended === "running",
		findings: [...counted, ...findings.filter((one) => !isCounted(one))],
		// A sentence about these is in front of it.
		lead: saidOf(object(doc.lead).sentences).slice(counted.length ? 1 : 0),
		imported: !diff && unseen.some((one) => one.code === "imported"),
		scanned: doc.scan != null && scan.why_not == null,
		judged: process.growth_after_ns != null,
		live: LIVE[said(process.ended) ?? ""] ?? "Live when last seen",
		epochs: diff ? [] : epochsOf(doc, startNs, endNs),
		leaks,
		roots: leaks.filter((leak) => leak.root < 0 && LOST.includes(leak.verdict)),
		doubtful: leaks.filter((leak) => leak.root < 0 && leak.verdict === "MAYBE-LOST"),
		growth: diff ? [] : growthOf(model),
		unseen,
		timeline,
		marks: array(doc.marks)
			.map(object)
			.map((mark) => ({ name: said(mark.name), at: figure(mark.at_ns) })),
	};
}

/** A moment of the run: "2.5 s after the start". */
export const after = (facts: Facts, ns: number) => duration(Math.max(0, ns - facts.startNs));

export function epochName(facts: Facts, epoch: Epoch): string {
	if (epoch.name) return epoch.name;
	return epoch.number === 0 ? "the start" : after(facts, epoch.fromNs);
}

/** When what still lives of a context was allocated: from, and until when; null where not known. */
export function allocatedWhen(facts: Facts, context: number): [number, number] | null {
	const { contexts } = facts.model;
	const numbers = new Set(contexts.epochs(context).flatMap(({ epoch, blocks }) => (blocks > 0 ? [epoch] : [])));
	const met = facts.epochs.filter((epoch) => numbers.has(epoch.number));
	const first = figure(contexts.row(context).first_ns);

	if (!first && !met.length) return null;
	const from = Math.max(first, met.length ? met[0].fromNs : 0);
	return [from, met.length ? met[met.length - 1].toNs : facts.endNs];
}

/** The same in words. */
export function sinceWords(facts: Facts, context: number): string | null {
	const when = context >= 0 ? allocatedWhen(facts, context) : null;
	if (!when) return null;
	const from = when[0] <= facts.startNs ? "the start" : `${after(facts, when[0])} after the start`;
	if (when[1] >= facts.endNs) return `allocated since ${from}`;
	return `allocated between ${from.replace(" after the start", "")} and ${after(facts, when[1])} after the start`;
}

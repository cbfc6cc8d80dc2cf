// SPDX-License-Identifier: MIT
// Small pieces that several views show: figures, verdicts, call stacks.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes, change, count, digits, exactBytes, percent, things, visible } from "../format";
import type { Model } from "../model";
import type { StackPart } from "../model/frames";
import { array, figure, isIndex, object, off } from "../model/read";
import { useSeep } from "../state";
import { copyText } from "./hooks";

export const Unknown = () => <span class="muted">not known</span>;
export const Bytes = ({ of }: { of: number | null }) =>
	of === null ? <Unknown /> : <span title={exactBytes(of)}>{bytes(of)}</span>;
export const Count = ({ of }: { of: number | null }) =>
	of === null ? <Unknown /> : <span title={digits(of)}>{count(of)}</span>;

/** Its share of the whole as a bar behind the figure. Differences point to either side. */
export function Share(props: { part: number; whole: number; text?: string }) {
	const share = props.whole ? Math.min(1, Math.abs(props.part / props.whole)) : 0;

	return (
		<span class="share">
			<span
				class={props.part < 0 ? "bar shrunk" : "bar"}
				aria-hidden="true"
				style={{ width: `${(share * 100).toFixed(1)}%` }}
			/>
			<span>{props.text ?? percent(props.part, props.whole)}</span>
		</span>
	);
}

/** A word and a sign, so that colour is never alone. */
const SIGNS: Record<string, [sign: string, tone: string]> = {
	LOST: ["▲", "bad"],
	"LOST-CYCLE": ["▲", "bad"],
	"LOST-WITH": ["△", "bad"],
	"FORK-ORPHAN": ["△", "bad"],
	"MAYBE-LOST": ["?", "doubt"],
	GROWING: ["↗", "bad"],
	STALE: ["◔", "doubt"],
	NEW: ["+", "bad"],
	GROWN: ["↗", "bad"],
	HELD: ["■", "bad"],
	SHRUNK: ["↘", "good"],
	GONE: ["−", "good"],
	REACHABLE: ["✓", "good"],
};

export function Verdict({ word }: { word: string }) {
	const [sign, tone] = SIGNS[word] ?? ["·", "plain"];

	return (
		<span class={`verdict ${tone}`}>
			<span aria-hidden="true">{sign}</span> {word}
		</span>
	);
}

/** "←" with the functions that called it, but for library code that only passes a call on. */
export function callers(model: Model, frames: ArrayLike<number>, most = 2): string {
	const shown = model.frames.parts(frames).filter((part) => !part.via).slice(1, 1 + most);
	const names = shown.map(({ at }) => nameOf(model, frames[at]));
	return names.length ? `← ${names.join(" ← ")}` : "";
}

/** "via std::function<void ()>::operator() + 2 more frames". */
export function viaText(model: Model, frames: ArrayLike<number>, { at, count }: StackPart): string {
	const more = count > 1 ? ` + ${things(count - 1, "more frame")}` : "";
	return `via ${nameOf(model, frames[at + count - 1])}${more}`;
}

export const nameOf = (model: Model, frame: number) => model.functionName(model.frames.functionOf[frame]);

export function contextPlace(model: Model, i: number): string {
	const frames = model.contexts.frames(i, false);
	return frames.length ? model.frames.place(frames[0]) : "";
}

/** A function, who called it, and where: what rows of tables begin with. */
export function Site(props: { frames: ArrayLike<number>; name?: string; callers?: number }) {
	const { model } = useSeep();
	const { frames } = props;

	return (
		<span class="site">
			<span class="name">
				<b>{props.name ?? (frames.length ? nameOf(model, frames[0]) : "(no stack)")}</b>{" "}
				<span class="muted">{callers(model, frames, props.callers ?? 2)}</span>
			</span>
			{frames.length > 0 && <Place of={model.frames.place(frames[0])} />}
		</span>
	);
}

const PLACE_MAX = 34;

/** A file and line, its folders left out as far as there is no room for them. */
export function Place({ of }: { of: string }) {
	if (of.length <= PLACE_MAX) return <span class="place">{of}</span>;
	const at = of.indexOf("/", of.length - PLACE_MAX);
	return <span class="place" title={of}>…{of.slice(at > 0 ? at : of.lastIndexOf("/"))}</span>;
}

export const ContextSite = ({ i }: { i: number }) => {
	const { model } = useSeep();
	return <Site frames={model.contexts.frames(i, false)} name={model.contextName(i)} />;
};

/** By place of a stack how often the calls there were repeated: "×12", "×12 or more". */
function repeats(model: Model, i: number): Map<number, string> {
	const found = new Map<number, string>();
	if (i < 0) return found;
	for (const fold of model.contexts.folds(i)) {
		const { from } = fold;
		const to = Math.min(fold.to, from + 1000);
		const times = `${digits(Number(fold.times))} times${fold.or_more ? " or more" : ""}`;
		for (let at = from; at <= to; at++) found.set(at, at === from ? `↻ ${times}` : "↻");
	}
	return found;
}

interface StackProps {
	/** Index of a context, or -1 where only frames are known. */
	context: number;
	frames?: number[];
}

function stackFrames(model: Model, props: StackProps, whole: boolean): number[] {
	if (props.context >= 0) return [...model.contexts.frames(props.context, whole)];
	return (props.frames ?? []).filter((frame) => isIndex(frame, model.frames.count));
}

/** One line per frame, for the clipboard. */
export function stackText(model: Model, context: number, frames?: number[]): string {
	const lines = stackFrames(model, { context, frames }, true).map((frame) => {
		const { name, place, module } = model.frameText(frame);
		return place ? `${name}  ${place}` : `${name}  ${module}`;
	});
	return `${lines.join("\n")}\n`;
}

/** The whole stack with its places, recursion, and what is left out of it. */
export function Stack(props: StackProps & { children?: ComponentChildren }) {
	const { model, state, set } = useSeep();
	const [whole, setWhole] = useState(state.whole);
	const [copied, setCopied] = useState(false);
	const frames = stackFrames(model, props, whole);
	const { context } = props;
	const parts = whole ? frames.map((_, at) => ({ at, count: 1, via: false })) : model.frames.parts(frames);
	const shown = parts.filter((part) => !part.via).length;
	const hidden = (context < 0 ? frames.length : model.contexts.frames(context, true).length) - shown;
	const skipped = context < 0 || whole ? 0 : model.contexts.inner[context];
	const folds = repeats(model, context);
	const zoom = frames.map((frame) => model.frames.functionOf[frame]).reverse();

	return (
		<div class="stack">
			<ol>
				{parts.slice(0, 400).map((part) => {
					const { at } = part;
					const frame = frames[at];
					if (part.via) return <li class="muted code" key={at}>{viaText(model, frames, part)}</li>;
					const { name, place, origin, module } = model.frameText(frame);
					const fn = model.frames.functionOf[frame];
					return (
						<li class={"slap".includes(origin) ? "foreign" : ""} key={at}>
							<button
								class="link code"
								title={`${name}\n${module}\nShow callers and callees`}
								onClick={() => set({ function: fn, tab: "flame" })}
							>
								{whole || state.whole ? name : model.functionName(fn)}
							</button>{" "}
							<span class="place">{place || module}</span>
							{folds.has(at + skipped) && <span class="fold"> {folds.get(at + skipped)}</span>}
						</li>
					);
				})}
				{parts.length > 400 && <li class="muted">and {digits(frames.length - parts[400].at)} more frames</li>}
				{frames.length === 0 && <li class="muted">No call stack is known.</li>}
			</ol>
			{props.children}
			<p class="row-buttons">
				<button
					onClick={() => {
						void copyText(stackText(model, context, props.frames));
						setCopied(true);
					}}
				>
					{copied ? "Copied" : "Copy stack"}
				</button>
				{zoom.length > 0 && context >= 0 && (
					<button onClick={() => set({ zoom, function: null, selected: context, tab: "flame" })}>
						In the flame graph
					</button>
				)}
				{(hidden > 0 || whole) && (
					<button aria-pressed={whole} onClick={() => setWhole(!whole)}>
						{whole ? "Without plumbing" : `Whole stack (${digits(hidden)} more)`}
					</button>
				)}
			</p>
		</div>
	);
}

/** Rows of a name and a figure. */
export function Figures({ of }: { of: [name: string, value: ComponentChildren][] }) {
	return (
		<dl class="figures">
			{of.map(([name, value]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>{value}</dd>
				</div>
			))}
		</dl>
	);
}

/** Everything that is known of a context, below its row. */
export function ContextDetail({ i }: { i: number }) {
	const { model } = useSeep();
	const raw = model.contexts.row(i);
	const allocs = figure(raw.allocs);
	const frees = figure(raw.frees);
	const growth = object(raw.growth);
	const known = (key: string, name: string, value: () => ComponentChildren) =>
		(model.knows(key) ? [[name, value()]] : []) as [string, ComponentChildren][];
	const flags = array(raw.flags).filter((flag): flag is string => typeof flag === "string");

	return (
		<div class="detail">
			<Stack context={i}>
				{raw.truncated === true && <p class="muted">The outermost frames are missing: no unwind information.</p>}
				{flags.includes("by-frame-pointer") && (
					<p class="muted">Some callers were found by frame pointer, without unwind information.</p>
				)}
				{flags.includes("site") && <p class="muted">Callers unknown: these stacks were not walked (tier counts).</p>}
				{flags.includes("cut") && <p class="muted">The outermost frames were not stored (depth=).</p>}
				{typeof growth.evidence === "string" && <p>{model.contexts.value("growing", i) ? "↗ " : ""}{growth.evidence}</p>}
			</Stack>
			<Figures
				of={[
					...known("live_bytes", "Live", () => <><Bytes of={figure(raw.live_bytes)} />{off(raw, "live_bytes", bytes)} in {digits(figure(raw.live_blocks))}{off(raw, "live_blocks", digits)}</>),
					...known("peak_bytes", "At the peak", () => <><Bytes of={figure(raw.peak_bytes)} />{off(raw, "peak_bytes", bytes)} in {digits(figure(raw.peak_blocks))}{off(raw, "peak_blocks", digits)}</>),
					...known("alloc_bytes", "Allocated", () => <><Bytes of={figure(raw.alloc_bytes)} />{off(raw, "alloc_bytes", bytes)} in {digits(allocs)}{off(raw, "allocs", digits)}</>),
					...known("frees", "Freed", () => `${digits(frees)} of ${digits(allocs)} (${percent(frees, allocs)})`),
					...known("temporary", "Temporary", () => `${digits(figure(raw.temporary))} (${percent(figure(raw.temporary), allocs)})`),
					...known("alloc_bytes", "Average size", () => (allocs ? bytes(Math.round(figure(raw.alloc_bytes) / allocs)) : "–")),
					["Allocated by", String(raw.kind ?? "")],
					...(raw.thread ? [["Thread", visible(model.contexts.threads.list[model.contexts.threadOf[i]])] as [string, string]] : []),
					...(raw.scope ? [["Scope", model.scopes.path(model.contexts.scopeOf[i])] as [string, string]] : []),
				]}
			/>
		</div>
	);
}

export const Change = ({ of, text }: { of: number; text?: (value: number) => string }) => (
	<span class={of > 0 ? "grown" : of < 0 ? "shrunk" : "muted"} title={change(of, digits)}>
		{of ? change(of, text) : "0"}
	</span>
);

// SPDX-License-Identifier: MIT
// The bar above the views: what is measured and what is kept, and chips that take it back.
import { useMemo } from "preact/hooks";
import { basename, exactBytes, things, visible } from "../format";
import { search } from "../flame/search";
import type { Model } from "../model";
import { type Measure, type State, useSeep } from "../state";
import { epochName, type Facts } from "../facts";
import { useNarrow } from "./hooks";

const MEASURE_NAMES: Record<Exclude<Measure, "live">, string> = {
	lost: "Lost",
	growing: "Growing",
	peak: "Peak",
	allocated: "Allocated",
	temporary: "Temporary",
};

export function measureName(measure: Measure, facts: Facts): string {
	return measure === "live" ? facts.live : MEASURE_NAMES[measure];
}

/** "in the epochs warm to closing". */
export function epochsWords(facts: Facts, epochs: [number, number]): string {
	const within = facts.epochs.filter((one) => one.number >= epochs[0] && one.number <= epochs[1]);
	if (!within.length) return "no time";
	const from = epochName(facts, within[0]);
	const next = facts.epochs.find((one) => one.number > epochs[1]);
	return `${from} to ${next ? epochName(facts, next) : "the end"}`;
}

/** By context whether the text is found in a name, file or module of its stack; null: no text. */
export function searched(model: Model, text: string): Uint8Array | null {
	const { of } = search(model, text.trim());
	return of && model.passing(of);
}

/** Contexts that have something of the measure and pass filters and search. */
export function useRows(): { rows: Uint32Array; weights: ReturnType<Model["weigh"]> } {
	const { model, state } = useSeep();
	const weights = model.weigh(state);
	const keep = useMemo(() => searched(model, state.search), [model, state.search]);
	const rows = useMemo(
		() => Uint32Array.from({ length: model.contexts.count }, (_, i) => i)
			.filter((i) => weights.value[i] !== 0 && (!keep || keep[i])),
		[weights, keep],
	);
	return { rows, weights };
}

function Choice(props: { label: string; value: string | null; options: [string, string][]; pick: (value: string | null) => void }) {
	if (props.options.length < 2 && props.value === null) return null;
	return (
		<label>
			{props.label}
			<select
				value={props.value ?? ""}
				onChange={(event) => props.pick(event.currentTarget.value === "" ? null : event.currentTarget.value)}
			>
				<option value="">all</option>
				{props.options.map(([value, name]) => (
					<option key={value} value={value}>
						{name}
					</option>
				))}
			</select>
		</label>
	);
}

/** Side by side where there is room, each with its total as a tooltip. */
function Measures({ facts, pick }: { facts: Facts; pick: (measure: Measure) => void }) {
	const { model, state } = useSeep();
	const totals = useMemo(
		() => model.measures.map((measure) => {
			const { total } = model.weigh({ measure, thread: null, scope: null, module: null, epochs: null });
			return model.isBytes(measure) ? exactBytes(total) : things(total, "allocation");
		}),
		[model],
	);

	if (useNarrow())
		return (
			<label>
				Measure
				<select value={state.measure} onChange={(event) => pick(event.currentTarget.value as Measure)}>
					{model.measures.map((measure) => (
						<option key={measure} value={measure}>
							{measureName(measure, facts)}
						</option>
					))}
				</select>
			</label>
		);
	return (
		<span class="segments" role="group" aria-label="Measure">
			{model.measures.map((measure, at) => (
				<button key={measure} aria-pressed={state.measure === measure} title={totals[at]} onClick={() => pick(measure)}>
					{measureName(measure, facts)}
				</button>
			))}
		</span>
	);
}

function modulesOf(model: Model): [string, string][] {
	const used = new Set(model.frames.moduleOf);
	return model.frames.modules
		.map((path, i) => [`${i}`, visible(basename(path))] as [string, string])
		.filter(([, name], i) => name && used.has(i));
}

const listed = (names: string[]) =>
	names.slice(0, 2000).map((name) => [name, visible(name)] as [string, string]);

export function Filters({ facts, measures }: { facts: Facts; measures: boolean }) {
	const { model, state, set } = useSeep();
	const modules = useMemo(() => modulesOf(model), [model]);
	const { problem } = search(model, state.search.trim());
	// When a block was allocated is known of live ones only.
	const pickMeasure = (measure: Measure) => set(measure === "live" ? { measure } : { measure, epochs: null });

	return (
		<div class="filters controls" role="search" aria-label="Filters">
			{measures && !facts.diff && model.measures.length > 1 && <Measures facts={facts} pick={pickMeasure} />}
			<Choice label="Thread" value={state.thread} options={listed(model.contexts.threads.list)} pick={(thread) => set({ thread })} />
			<Choice label="Scope" value={state.scope} options={listed(model.scopes.tags)} pick={(scope) => set({ scope })} />
			<Choice label="Module" value={state.module} options={modules} pick={(module) => set({ module })} />
			<input
				type="search"
				id="search"
				placeholder="Search functions, files, modules   /"
				aria-label="Search functions, files and modules"
				value={state.search}
				spellcheck={false}
				autocomplete="off"
				onInput={(event) => set({ search: event.currentTarget.value })}
				onKeyDown={(event) => {
					if (event.key !== "Escape") return;
					if (state.search) set({ search: "" });
					else event.currentTarget.blur();
					event.stopPropagation();
				}}
			/>
			{problem && <span class="warn" role="alert">{problem}</span>}
			{measures && <label title="operator new, containers, and what comes before main">
				<input type="checkbox" checked={state.whole} onChange={(event) => set({ whole: event.currentTarget.checked })} />
				Plumbing
			</label>}
			<Chips facts={facts} />
		</div>
	);
}

export function Chips({ facts }: { facts: Facts }) {
	const { model, state, set } = useSeep();
	const chips: [string, Partial<State>][] = [];

	if (state.epochs) chips.push([`Allocated from ${epochsWords(facts, state.epochs)}`, { epochs: null }]);
	if (state.thread !== null) chips.push([`Thread ${visible(state.thread)}`, { thread: null }]);
	if (state.scope !== null) chips.push([`Scope ${visible(state.scope)}`, { scope: null }]);
	if (state.module !== null)
		chips.push([`Module ${visible(basename(model.frames.modules[Number(state.module)] ?? ""))}`, { module: null }]);
	if (!chips.length) return null;
	return (
		<div class="chips" role="group" aria-label="Filters in force">
			{chips.map(([text, patch]) => (
				<button key={text} class="chip" title="Remove this filter" onClick={() => set(patch)}>
					{text} <span aria-hidden="true">×</span>
					<span class="hidden-text"> remove this filter</span>
				</button>
			))}
		</div>
	);
}

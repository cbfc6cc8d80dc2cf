// SPDX-License-Identifier: MIT
// The flame graph's tab: what is drawn and how, the way to the box that is zoomed to, what the search
// found, the graph, and what is known of the box in focus. With a function chosen it is the sandwich.
import { useMemo, useRef, useState } from "preact/hooks";
import { percent, things } from "../format";
import type { Tree, Weights } from "../model";
import { type State, useSeep } from "../state";
import { copyText, useNarrow } from "../views/hooks";
import { Found, InFocus } from "./beside";
import { boxFacts, foldedText, type Meaning, meaningOf, valueText } from "./box_facts";
import { roomyTop } from "./geometry";
import { Legend } from "./legend";
import type { Tint } from "./paint";
import { Pane } from "./pane";
import { Sandwich } from "./sandwich";
import { search } from "./search";

/** The share of the width that a box found by search or named by another view has at least. */
const SHARE_FOUND = 0.06;

export function FlameView() {
	const { model, state } = useSeep();
	const weights = model.weigh(state);
	// Back from the sandwich keys go on in the whole graph.
	const returns = useRef(false);

	if (weights.width === 0) return <p class="state">Nothing to draw: {emptyWords(state)}</p>;
	if (state.function !== null && state.function < model.frames.functionCount) {
		returns.current = true;
		return <Sandwich fn={state.function} />;
	}
	return <Whole weights={weights} takesFocus={returns.current} />;
}

function emptyWords({ thread, scope, module, epochs }: State): string {
	return thread !== null || scope !== null || module !== null || epochs
		? "no call stack passes the filters."
		: "no call stack has anything of this measure.";
}

/** Functions from the root: how the state names a box. */
export const pathOf = (tree: Tree, node: number): number[] => tree.path(node).slice(1).map((at) => tree.fn[at]);

/** The topmost boxes that match, the widest first. */
function found(tree: Tree, matches: Uint8Array | null): number[] {
	const nodes: number[] = [];
	if (!matches) return nodes;
	for (let place = 1; place < tree.count; ) {
		const node = tree.order[place];
		const hit = tree.fn[node] >= 0 && matches[tree.fn[node]] === 1;
		if (hit) nodes.push(node);
		place = hit ? tree.past[node] : place + 1;
	}
	return nodes.sort((a, b) => tree.width[b] - tree.width[a]);
}

function Whole({ weights, takesFocus }: { weights: Weights; takesFocus: boolean }) {
	const { model, state, set } = useSeep();
	const tree = model.tree(weights, state.whole, state.scoped);
	const meaning = useMemo(
		() => meaningOf(model, weights, tree, "all", model.repeats(tree, state.whole)),
		[model, weights, tree],
	);
	const named = useMemo(() => tree.find(state.zoom), [tree, state.zoom]);
	const isLeaf = named !== 0 && tree.isLeaf(named);
	const top = isLeaf ? roomyTop(tree, named, 0.2) : named;
	const [focus, setFocus] = useState({ tree, node: -1 });
	const [tint, setTint] = useState<Tint>("origin");
	const matches = search(model, state.search.trim());
	const union = useMemo(() => (matches.of ? tree.union(matches.of) : null), [tree, matches]);
	const node = focus.tree === tree ? focus.node : -1;
	const shown = node >= 0 ? node : isLeaf ? named : top;

	const focusOn = (at: number) => setFocus({ tree, node: at });
	const zoom = (at: number) => {
		if (!tree.isLeaf(at)) set({ zoom: pathOf(tree, at) });
	};
	const out = () => {
		focusOn(top);
		set({ zoom: pathOf(tree, Math.max(0, tree.parent[top])) });
	};
	const toHit = (step: number) => {
		const hits = found(tree, matches.of);
		if (hits.length === 0) return;
		const at = hits.indexOf(node);
		const next = hits[at < 0 && step < 0 ? hits.length - 1 : (at + step + hits.length) % hits.length];
		focusOn(next);
		if (!tree.holds(top, next) || tree.width[next] < SHARE_FOUND * tree.width[top])
			set({ zoom: pathOf(tree, roomyTop(tree, next, SHARE_FOUND)) });
	};
	const copy = (at: number) => void copyText(foldedText(model, tree, at));
	const key = (name: string, at: number): boolean => {
		if (name === "Backspace" || name === "Escape") {
			if (top === 0) return false;
			out();
		} else if (name === "n" || name === "N") toHit(name === "n" ? 1 : -1);
		else if (name === "s" && tree.fn[at] >= 0) set({ function: tree.fn[at] });
		else if (name === "c") copy(at);
		else return false;
		return true;
	};

	return (
		<div class="flame">
			<div class="flame-bar controls">
				<Way meaning={meaning} top={top} onPick={(at) => { focusOn(at); set({ zoom: pathOf(tree, at) }); }} />
				<Options tint={tint} setTint={setTint} />
			</div>
			{state.search && (
				<Found
					problem={matches.problem}
					text={union ? foundWords(meaning, matches.functions, union) : ""}
					step={union && union.nodes > 1 ? toHit : null}
				/>
			)}
			<Pane
				label={`Flame graph, ${valueText(meaning, tree.value[0])}`}
				meaning={meaning} top={top} focus={isLeaf && node < 0 ? named : node}
				matches={matches.of} tint={tint} upwards={state.direction === "flame"}
				onFocus={focusOn} onZoom={zoom} onKey={key} takesFocus={takesFocus}
			/>
			<Legend meanings={[meaning]} tint={tint} searching={matches.of !== null} />
			<InFocus meaning={meaning} node={shown} hint={shown === 0}>
				{tree.fn[shown] >= 0 && (
					<button onClick={() => set({ function: tree.fn[shown] })} title="Callers and callees of this function (s)">
						Callers and callees
					</button>
				)}
				<button onClick={() => copy(shown)} title="The path from the root as a folded stack (c)">Copy path</button>
			</InFocus>
		</div>
	);
}

type Union = ReturnType<Tree["union"]>;

function foundWords(meaning: Meaning, functions: number, union: Union): string {
	if (functions === 0) return "No function matches.";
	const here = union.nodes === 0 ? "none of them here" : valueText(meaning, union.value);
	return `${things(functions, "function")} found: ${here}, ${percent(union.width, meaning.tree.width[0])} of all`;
}

const WAY_MAX = 5;
const WAY_MAX_NARROW = 3;

/** The ancestors of the top: those in the middle of a long way are behind one button. */
function Way({ meaning, top, onPick }: { meaning: Meaning; top: number; onPick: (node: number) => void }) {
	const { model, tree } = meaning;
	const path = tree.path(top);
	const most = useNarrow() ? WAY_MAX_NARROW : WAY_MAX;
	const hidden = path.length > most ? path.length - most + 1 : 0;
	const seen = hidden ? [path[0], ...path.slice(hidden + 1)] : path;

	return (
		<nav class="way" aria-label="Zoomed to">
			{seen.map((node, at) => (
				<>
					{at > 0 && <span class="muted" aria-hidden="true">›</span>}
					{at === 1 && hidden > 0 && (
						<>
							<button class="quiet" title={`${hidden} functions between`} onClick={() => onPick(path[hidden])}>…</button>
							<span class="muted" aria-hidden="true">›</span>
						</>
					)}
					<button
						class="quiet"
						aria-current={node === top ? "location" : undefined}
						title={boxFacts(meaning, node).spoken}
						onClick={() => onPick(node)}
					>
						{node === 0 ? valueText(meaning, tree.value[0]) : model.functionName(tree.fn[node])}
					</button>
				</>
			))}
		</nav>
	);
}

function Options({ tint, setTint }: { tint: Tint; setTint: (tint: Tint) => void }) {
	const { model, state, set } = useSeep();

	return (
		<span class="flame-options">
			<Segments
				label="Direction" value={state.direction} pick={(direction) => set({ direction })}
				options={[["icicle", "Icicle", "The root at the top"], ["flame", "Flame", "The root at the bottom"]]}
			/>
			{model.scopes.rows.length > 0 && (
				<Segments
					label="Below the root" value={state.scoped ? "scopes" : "stacks"} pick={(first) => set({ scoped: first === "scopes", zoom: [] })}
					options={[
						["stacks", "Stacks", "What all scopes allocated by one stack is together"],
						["scopes", "Scopes", "The tags that were open stand in front of each stack"],
					]}
				/>
			)}
			{!model.isDiff && (
				<Segments
					label="Colours" value={tint} pick={setTint}
					options={[
						["origin", "Origin", "Colours tell own code from libraries"],
						["module", "Module", "Colours tell modules apart"],
					]}
				/>
			)}
		</span>
	);
}

interface SegmentsProps<T> {
	label: string;
	value: T;
	options: [value: T, name: string, hint: string][];
	pick: (value: T) => void;
}

function Segments<T extends string>({ label, value, options, pick }: SegmentsProps<T>) {
	return (
		<span class="segments" role="group" aria-label={label}>
			{options.map(([option, name, hint]) => (
				<button key={option} aria-pressed={option === value} title={hint} onClick={() => pick(option)}>
					{name}
				</button>
			))}
		</span>
	);
}

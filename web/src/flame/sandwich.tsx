// SPDX-License-Identifier: MIT
// One function between its callers, above, and its callees, below, with its source lines. Recursion
// counts once: both trees begin where the function stands outermost on a stack.
import { useMemo, useState } from "preact/hooks";
import { percent, things } from "../format";
import type { Tree } from "../model";
import { useSeep } from "../state";
import { copyText } from "../views/hooks";
import { Found, InFocus } from "./beside";
import { foldedText, type Meaning, meaningOf, valueText } from "./box_facts";
import { Legend } from "./legend";
import { Pane } from "./pane";
import { search } from "./search";

interface Half {
	meaning: Meaning;
	outwards: boolean;
}

const LINES_MAX = 200;

export function Sandwich({ fn }: { fn: number }) {
	const { model, state, set } = useSeep();
	const weights = model.weigh(state);
	const name = model.functionName(fn);
	const halves = useMemo((): Half[] => {
		const trees = [model.callers(weights, fn, state.whole), model.callees(weights, fn, state.whole)];
		return trees.map((tree, at) => ({
			meaning: meaningOf(model, weights, tree, "this function", new Map(), at === 0),
			outwards: at === 0,
		}));
	}, [model, weights, fn, state.whole]);
	const matches = search(model, state.search.trim());
	const [focus, setFocus] = useState<{ tree: Tree; node: number } | null>(null);
	const [{ meaning: above }, { meaning: below }] = halves;
	const at = halves.find(({ meaning }) => meaning.tree === focus?.tree)?.meaning ?? below;
	const node = focus?.tree === at.tree ? focus.node : 0;
	const close = () => set({ function: null });

	if (above.tree.width[0] === 0)
		return (
			<div class="flame">
				<Head name={name} fn={fn} figures="is on no call stack here" close={close} />
				<p class="state">
					{state.whole
						? "No call stack with this measure and these filters has the function."
						: "It may be plumbing, which is not shown now."}
				</p>
			</div>
		);
	const figures = [
		`${valueText(above, above.tree.value[0])}, ${percent(above.tree.width[0], weights.width)} of all`,
		`own ${valueText(below, below.tree.self[0])}`,
	].join("; ");
	return (
		<div class="flame sandwich">
			<Head name={name} fn={fn} figures={figures} close={close} />
			{matches.problem && <Found problem={matches.problem} text="" step={null} />}
			{halves.map((half) => (
				<HalfPane
					key={half.outwards} half={half} name={name} matches={matches.of}
					focus={focus?.tree === half.meaning.tree ? focus.node : -1}
					onFocus={(next) => setFocus({ tree: half.meaning.tree, node: next })}
					onFunction={(next) => set({ function: next })} close={close} takesFocus={!half.outwards}
				/>
			))}
			<Lines fn={fn} meaning={above} />
			<Legend meanings={[above, below]} tint="origin" searching={matches.of !== null} />
			<InFocus meaning={at} node={node}>
				{at.tree.fn[node] >= 0 && at.tree.fn[node] !== fn && (
					<button onClick={() => set({ function: at.tree.fn[node] })}>Callers and callees</button>
				)}
			</InFocus>
		</div>
	);
}

function Head(props: { name: string; fn: number; figures: string; close: () => void }) {
	const { model } = useSeep();
	const frame = model.frames.frameOf[props.fn];

	return (
		<div class="flame-bar">
			<p class="sandwich-name">
				<b title={frame >= 0 ? model.frameText(frame).name : undefined}>{props.name}</b>{" "}
				<span class="soft">{props.figures}</span>
			</p>
			<button class="controls" onClick={props.close} title="Back to the whole graph (Escape)">Whole graph</button>
		</div>
	);
}

interface HalfProps {
	half: Half;
	name: string;
	matches: Uint8Array | null;
	focus: number;
	onFocus: (node: number) => void;
	onFunction: (fn: number) => void;
	close: () => void;
	takesFocus: boolean;
}

function HalfPane({ half, name, matches, focus, onFocus, onFunction, close, takesFocus }: HalfProps) {
	const { model } = useSeep();
	const { meaning, outwards } = half;
	const { tree } = meaning;
	const [zoomed, setZoomed] = useState({ tree, node: 0 });
	const top = zoomed.tree === tree ? zoomed.node : 0;
	const none = tree.count === 1;
	const words = outwards ? "Callers" : "Callees";
	const zoom = (node: number) => {
		if (!tree.isLeaf(node)) setZoomed({ tree, node });
	};
	const key = (pressed: string, node: number): boolean => {
		if (pressed === "Escape" || pressed === "Backspace") {
			if (top === 0) close();
			else {
				onFocus(top);
				setZoomed({ tree, node: tree.parent[top] });
			}
		} else if (pressed === "s" && tree.fn[node] >= 0) onFunction(tree.fn[node]);
		else if (pressed === "c") void copyText(foldedText(model, tree, node));
		else return false;
		return true;
	};

	return (
		<section class={outwards ? "half above" : "half"}>
			<h3>
				{words}
				{none && <span class="muted"> {outwards ? "none: it is the outermost" : "none: it allocates itself"}</span>}
				{top !== 0 && <button class="quiet controls" onClick={() => setZoomed({ tree, node: 0 })}>all</button>}
			</h3>
			<Pane
				label={`${words} of ${name}`} meaning={meaning} top={top} focus={focus} matches={matches}
				tint="origin" upwards={outwards} onFocus={onFocus} onZoom={zoom} onKey={key}
				takesFocus={takesFocus}
			/>
		</section>
	);
}

function Lines({ fn, meaning }: { fn: number; meaning: Meaning }) {
	const { model, weights } = meaning;
	const rows = useMemo(() => model.lines(weights, fn), [model, weights, fn]);
	const known = rows.filter((row) => model.frames.file(row.frame));

	if (known.length === 0) return null;
	return (
		<details class="lines" open={known.length > 1}>
			<summary>{things(known.length, "source line")}</summary>
			<table>
				<tbody>
					{known.slice(0, LINES_MAX).map((row) => (
						<tr key={row.frame}>
							<td class="num">{valueText(meaning, row.value)}</td>
							<td class="num muted">{percent(row.value, meaning.tree.value[0])}</td>
							<td class="code break">{row.place}</td>
						</tr>
					))}
				</tbody>
			</table>
		</details>
	);
}

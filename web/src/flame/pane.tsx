// SPDX-License-Identifier: MIT
// A flame graph in the page: its canvases, keys, tooltip, and what screen readers are told.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useTheme } from "../views/hooks";
import { boxFacts, type BoxFacts, type Meaning, valueText } from "./box_facts";
import { Graph } from "./graph";
import type { Tint } from "./paint";
import { dark, light } from "./palette";

interface Props {
	label: string;
	meaning: Meaning;
	top: number;
	focus: number;
	matches: Uint8Array | null;
	tint: Tint;
	upwards: boolean;
	onFocus: (node: number) => void;
	onZoom: (node: number) => void;
	/** Keys beyond moving about; true: done. */
	onKey: (key: string, node: number) => boolean;
	/** Whether keys go to it as soon as it is there. */
	takesFocus?: boolean;
}

interface Tip {
	node: number;
	x: number;
	y: number;
}

let panes = 0;

/** The last of the draws, and when the first one was done since the page was asked for; tests read it. */
export const drawn = { boxes: 0, ms: 0, count: 0, firstAt: 0 };

export function Facts({ facts }: { facts: BoxFacts }) {
	return (
		<>
			<p class="tip-name">{facts.name}</p>
			{facts.where.length > 0 && <p class="tip-where">{facts.where.join(" · ")}</p>}
			<dl>
				{facts.rows.map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
		</>
	);
}

/** Beside the pointer, and never over an edge of the window. */
function Tooltip({ tip, facts }: { tip: Tip; facts: BoxFacts }) {
	const ref = useRef<HTMLDivElement>(null);

	useLayoutEffect(() => {
		const box = ref.current!;
		const { offsetWidth: width, offsetHeight: height } = box;
		const x = tip.x + 14 + width > innerWidth - 8 ? tip.x - 14 - width : tip.x + 14;
		const y = tip.y + 16 + height > innerHeight - 8 ? tip.y - 12 - height : tip.y + 16;
		box.style.left = `${Math.max(8, Math.min(x, innerWidth - width - 8))}px`;
		box.style.top = `${Math.max(8, y)}px`;
	});
	return (
		<div class="tip" role="tooltip" ref={ref}>
			<Facts facts={facts} />
		</div>
	);
}

/** The box that has the focus, as an item of a tree, which screen readers read out. */
function Mirror({ id, meaning, node, top }: { id: string; meaning: Meaning; node: number; top: number }) {
	const { tree } = meaning;
	const siblings = node > 0 ? tree.children(tree.parent[node]) : [node];

	return (
		<div
			key={node}
			id={`${id}-${node}`}
			role="treeitem"
			aria-level={tree.depth[node] - tree.depth[top] + 1}
			aria-posinset={siblings.indexOf(node) + 1}
			aria-setsize={siblings.length}
			aria-expanded={tree.isLeaf(node) ? undefined : "true"}
			aria-selected="true"
		>
			{boxFacts(meaning, node).spoken}
		</div>
	);
}

const MOVES: Record<string, "out" | "in" | "left" | "right"> = { ArrowLeft: "left", ArrowRight: "right" };

function useGraph(props: Props, setTip: (tip: Tip | null) => void) {
	const elements = {
		scroller: useRef<HTMLDivElement>(null),
		sheet: useRef<HTMLDivElement>(null),
		base: useRef<HTMLCanvasElement>(null),
		overlay: useRef<HTMLCanvasElement>(null),
	};
	const graph = useRef<Graph>(null);
	const latest = useRef(props);
	const theme = useTheme();
	const { meaning, top, focus, matches, tint, upwards } = props;

	latest.current = props;
	useLayoutEffect(() => {
		const made = new Graph(
			{
				scroller: elements.scroller.current!,
				sheet: elements.sheet.current!,
				base: elements.base.current!,
				overlay: elements.overlay.current!,
			},
			{
				focus: (node) => latest.current.onFocus(node),
				zoom: (node) => latest.current.onZoom(node),
				hover: (node, x, y) => setTip(node < 0 ? null : { node, x, y }),
				drawn: (boxes, ms) => {
					drawn.firstAt ||= performance.now();
					Object.assign(drawn, { boxes, ms, count: drawn.count + 1 });
				},
			},
		);
		const before = () => made.print(light);
		const after = () => made.print(null);
		graph.current = made;
		addEventListener("beforeprint", before);
		addEventListener("afterprint", after);
		return () => {
			removeEventListener("beforeprint", before);
			removeEventListener("afterprint", after);
			made.end();
		};
	}, []);
	useLayoutEffect(() => {
		setTip(null);
		graph.current!.show({
			scene: {
				model: meaning.model, tree: meaning.tree, top, matches, tint, lost: meaning.lost,
				sides: meaning.sides, repeats: meaning.repeats,
				valueText: (value) => valueText(meaning, value),
			},
			palette: theme === "dark" ? dark : light,
			upwards,
			focus,
		});
	}, [meaning, top, focus, matches, tint, upwards, theme]);
	return { elements, graph };
}

export function Pane(props: Props) {
	const { meaning, top, focus, upwards } = props;
	const [tip, setTip] = useState<Tip | null>(null);
	const keys = useRef<HTMLDivElement>(null);
	const id = useMemo(() => `boxes${panes++}`, []);
	const { elements, graph } = useGraph(props, setTip);
	const spoken = focus >= 0 ? focus : top;

	useEffect(() => {
		if (props.takesFocus) keys.current!.focus({ preventScroll: true });
	}, []);
	const key = (event: KeyboardEvent) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const step = event.key === "ArrowUp" ? (upwards ? "in" : "out")
			: event.key === "ArrowDown" ? (upwards ? "out" : "in") : MOVES[event.key];
		if (step) props.onFocus(graph.current!.neighbour(step));
		else if (event.key === "Home") props.onFocus(top);
		else if (event.key === "+" || event.key === "-") graph.current!.scale(event.key === "+" ? 1.5 : 1 / 1.5);
		else if (event.key === "Enter" || event.key === " ") props.onZoom(spoken);
		else if (!props.onKey(event.key, spoken)) return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div
			class="flame-pane"
			onKeyDown={key}
			onClick={() => keys.current!.focus({ preventScroll: true })}
		>
			<div
				class="hidden-text"
				role="tree"
				tabIndex={0}
				aria-label={props.label}
				aria-activedescendant={`${id}-${spoken}`}
				ref={keys}
			>
				<Mirror id={id} meaning={meaning} node={spoken} top={top} />
			</div>
			<div class="flame-scroller" ref={elements.scroller} tabIndex={-1}>
				<div class="flame-sheet" ref={elements.sheet}>
					<div class="flame-canvases">
						<canvas ref={elements.base} aria-hidden="true" />
						<canvas ref={elements.overlay} aria-hidden="true" />
					</div>
				</div>
			</div>
			{tip && tip.node < meaning.tree.count && <Tooltip tip={tip} facts={boxFacts(meaning, tip.node)} />}
		</div>
	);
}

// SPDX-License-Identifier: MIT
// What is said of a box: in the tooltip, below the graph and to screen readers, with one set of words.
import { bytes, change, count, digits, exactBytes, percent, things } from "../format";
import type { Model, Tree, Weights } from "../model";
import type { Origin } from "../document";

const ORIGINS: Record<Origin, string> = {
	o: "own code",
	i: "installed library",
	l: "language library",
	s: "C library or loader",
	a: "allocates for its caller",
	p: "before main",
};

export interface BoxFacts {
	name: string;
	/** File and line, module, origin: those that are known. */
	where: string[];
	rows: [name: string, value: string][];
	/** All in one sentence. */
	spoken: string;
}

/** What the numbers of a tree are of. */
export interface Meaning {
	model: Model;
	weights: Weights;
	tree: Tree;
	/** What the root of the tree is called in shares: "all". */
	whole: string;
	lost: Float64Array | null;
	sides: { before: Float64Array; after: Float64Array } | null;
	repeats: ReadonlyMap<number, string>;
	/** Whether children are callers. */
	outwards: boolean;
}

/** `whole` is what the root of the tree is called in shares. */
export function meaningOf(
	model: Model, weights: Weights, tree: Tree, whole: string, repeats: ReadonlyMap<number, string>,
	outwards = false,
): Meaning {
	const { contexts } = model;
	const showsLost = !model.isDiff && weights.measure === "live" && model.measures.includes("lost");
	const kept = (column: Float64Array) =>
		weights.keep ? column.map((value, i) => (weights.keep![i] ? value : 0)) : column;

	return {
		model, weights, tree, whole, repeats, outwards,
		lost: showsLost ? tree.sum(kept(contexts.column("lost").value)) : null,
		sides: model.isDiff
			? { before: tree.sum(contexts.before), after: tree.sum(contexts.after) }
			: null,
	};
}

export function valueText({ model, weights }: Pick<Meaning, "model" | "weights">, value: number): string {
	const text = model.isBytes(weights.measure) ? bytes : count;
	return model.isDiff ? change(value, text) : text(value);
}

function exactText({ model, weights }: Meaning, value: number, blocks: number): string {
	if (!model.isBytes(weights.measure)) return things(value, "allocation");
	const size = exactBytes(value);
	if (!model.hasBlocks(weights.measure)) return size;
	return `${size} in ${things(blocks, weights.measure === "allocated" ? "allocation" : "block")}`;
}

function rowsOf(meaning: Meaning, node: number): [string, string][] {
	const { tree, model, weights, lost, sides, whole } = meaning;
	const value = tree.value[node];
	const rows: [string, string][] = [];
	const parent = tree.parent[node];

	if (sides) {
		const text = model.isBytes(weights.measure) ? exactBytes : digits;
		rows.push(["Before", text(sides.before[node])], ["After", text(sides.after[node])]);
		rows.push(["Change", change(value, text)]);
		rows.push([`Share of ${whole}`, `${percent(tree.width[node], tree.width[0])} of what changed`]);
		return rows;
	}
	rows.push(["Inclusive", exactText(meaning, value, tree.blocks[node])]);
	if (!meaning.outwards)
		rows.push(["Own", (model.isBytes(weights.measure) ? exactBytes : digits)(tree.self[node])]);
	rows.push([`Share of ${whole}`, percent(value, tree.value[0])]);
	if (parent > 0)
		rows.push([`Share of its ${meaning.outwards ? "callee" : "caller"}`, percent(value, tree.value[parent])]);
	if (meaning.repeats.has(node)) rows.push(["Recursion", meaning.repeats.get(node)!]);
	if (lost && lost[node] > 0) rows.push(["Lost", `${exactBytes(lost[node])}, ${percent(lost[node], value)}`]);
	return rows;
}

export function boxFacts(meaning: Meaning, node: number): BoxFacts {
	const { model, tree, weights } = meaning;
	const fn = tree.fn[node];
	const frame = tree.frame[node];
	const text = frame >= 0 ? model.frameText(frame) : null;
	const name = text?.name ?? model.functionName(fn);
	const where = text ? [text.place, text.module, ORIGINS[text.origin]].filter(Boolean) : [];
	if (text && text.module.endsWith(`/${text.place}`)) where.shift();
	const rows = rowsOf(meaning, node);
	const brief = [
		model.functionName(fn),
		valueText(meaning, tree.value[node]),
		`${percent(Math.abs(tree.width[node]), tree.width[0])} of ${meaning.whole}`,
		model.hasBlocks(weights.measure) && !meaning.sides ? things(tree.blocks[node], "block") : "",
		meaning.repeats.has(node) ? `recursion ${meaning.repeats.get(node)}` : "",
		`level ${tree.depth[node] + 1}`,
		things(tree.children(node).length, meaning.outwards ? "caller" : "callee"),
	];

	return { name, where, rows, spoken: brief.filter(Boolean).join(", ") };
}

/** The path of a box as a folded stack: names from the root, and its value. */
export function foldedText(model: Model, tree: Tree, node: number): string {
	const names = tree
		.path(node)
		.slice(1)
		.map((at) => (tree.frame[at] >= 0 ? model.frameText(tree.frame[at]).name : model.functionName(tree.fn[at])));
	return `${names.map((name) => name.replaceAll(";", ":")).join(";")} ${tree.value[node]}`;
}

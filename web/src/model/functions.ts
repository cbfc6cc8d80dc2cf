// SPDX-License-Identifier: MIT
// Functions: what each allocated, who calls it, whom it calls, and on which of its lines. A function
// counts once per stack, however often recursion repeats it there: on the tree of stacks these are
// the nodes that have no ancestor of the same function.
import type { Contexts } from "./contexts";
import type { Frames } from "./frames";
import { Tree, TreeBuilder } from "./tree";

interface Weighed {
	value: Float64Array;
	blocks: Float64Array;
}

/** Columns by place; only functions that are on a stack with a value. Largest own value first. */
export interface FunctionTable {
	count: number;
	/** Number of the function. */
	fn: Int32Array;
	/** Of stacks on which it is the function to blame. */
	self: Float64Array;
	/** Of all stacks that it is on, each counted once. */
	inclusive: Float64Array;
	/** Blocks that belong to `inclusive`. */
	blocks: Float64Array;
	/** How many stacks it is on. */
	stacks: Int32Array;
}

export interface LineRow {
	/** A frame on that line, for its text. */
	frame: number;
	place: string;
	value: number;
	blocks: number;
}

export class Functions {
	#frames: Frames;
	#contexts: Contexts;

	constructor(frames: Frames, contexts: Contexts) {
		this.#frames = frames;
		this.#contexts = contexts;
	}

	table(weights: Weighed): FunctionTable {
		const { functionOf, functionCount: n } = this.#frames;
		const { stacks, inner, count } = this.#contexts;
		const self = new Float64Array(n);
		const sums = [weights.value, weights.blocks, Float64Array.from(weights.value, (v) => (v ? 1 : 0))].map(
			(column) => stacks.sum(column),
		);
		const [inclusive, blocks, onStacks] = sums.map(() => new Float64Array(n));
		const covered = new Int32Array(n);

		for (let i = 0; i < count; i++) {
			if (weights.value[i] === 0 || stacks.of[i] === 0) continue;
			self[functionOf[stacks.frame[stacks.up(stacks.of[i], inner[i])]]] += weights.value[i];
		}
		for (let node = 1; node < stacks.count; node++) {
			const fn = functionOf[stacks.frame[node]];
			if (node < covered[fn] || sums[2][node] === 0) continue;
			covered[fn] = stacks.past[node];
			inclusive[fn] += sums[0][node];
			blocks[fn] += sums[1][node];
			onStacks[fn] += sums[2][node];
		}
		const fn = Int32Array.from({ length: n }, (_, at) => at)
			.filter((at) => onStacks[at] > 0)
			.sort((a, b) => Math.abs(self[b]) - Math.abs(self[a]) || Math.abs(inclusive[b]) - Math.abs(inclusive[a]));
		const pick = (column: Float64Array) => Float64Array.from(fn, (at) => column[at]);
		return {
			count: fn.length,
			fn,
			self: pick(self),
			inclusive: pick(inclusive),
			blocks: pick(blocks),
			stacks: Int32Array.from(fn, (at) => onStacks[at]),
		};
	}

	/** By node of the stacks the outermost of its ancestors, or itself, that is the function; 0: none. */
	#outermost(fn: number): Int32Array {
		const { stacks } = this.#contexts;
		const { functionOf } = this.#frames;
		const outermost = new Int32Array(stacks.count);
		for (let node = 1; node < stacks.count; node++) {
			const above = outermost[stacks.parent[node]];
			outermost[node] = above !== 0 ? above : functionOf[stacks.frame[node]] === fn ? node : 0;
		}
		return outermost;
	}

	/** From where it stands outermost, so that both trees have one total. The root is the function. */
	around(weights: Weighed, fn: number, whole: boolean, outwards: boolean): Tree {
		const { stacks, inner, outer, count } = this.#contexts;
		const outermost = this.#outermost(fn);
		const builder = new TreeBuilder(count, outwards ? 0 : stacks.count >> 3);
		const known = new Int32Array(stacks.count);

		builder.fn[0] = fn;
		for (let i = 0; i < count; i++) {
			if (weights.value[i] === 0) continue;
			const tail = whole ? stacks.of[i] : stacks.up(stacks.of[i], inner[i]);
			const here = outermost[tail];
			const least = whole ? 0 : outer[i];
			if (here === 0 || stacks.depth[here] <= least) continue;
			if (builder.frame[0] < 0) builder.frame[0] = stacks.frame[here];
			const node = outwards ? this.#outwards(builder, here, least) : this.#inwards(builder, known, tail, here);
			builder.end(node, i, weights.value[i], weights.blocks[i]);
		}
		return new Tree(builder);
	}

	#outwards(builder: TreeBuilder, from: number, least: number): number {
		const { stacks } = this.#contexts;
		let node = 0;
		for (let at = stacks.parent[from]; stacks.depth[at] > least; at = stacks.parent[at])
			node = builder.child(node, this.#frames.functionOf[stacks.frame[at]], stacks.frame[at]);
		return node;
	}

	/** `known` holds by node of the stacks the tree's node + 1. */
	#inwards(builder: TreeBuilder, known: Int32Array, tail: number, from: number): number {
		const { stacks } = this.#contexts;
		const way: number[] = [];
		let at = tail;
		for (; at !== from && known[at] === 0; at = stacks.parent[at]) way.push(at);
		let node = at === from ? 0 : known[at] - 1;
		for (let k = way.length - 1; k >= 0; k--) {
			node = builder.child(node, this.#frames.functionOf[stacks.frame[way[k]]], stacks.frame[way[k]]);
			known[way[k]] = node + 1;
		}
		return node;
	}

	/** A stack counts once per line. */
	lines(weights: Weighed, fn: number): LineRow[] {
		const { functionOf, lineOf } = this.#frames;
		const { stacks } = this.#contexts;
		const values = stacks.sum(weights.value);
		const blocks = stacks.sum(weights.blocks);
		const passes = stacks.sum(Float64Array.from(weights.value, (v) => (v ? 1 : 0)));
		const rows = new Map<number, LineRow & { covered: number }>();

		for (let node = 1; node < stacks.count; node++) {
			const frame = stacks.frame[node];
			if (functionOf[frame] !== fn || passes[node] === 0) continue;
			let row = rows.get(lineOf[frame]);
			if (!row) {
				row = { frame, place: this.#frames.place(frame), value: 0, blocks: 0, covered: 0 };
				rows.set(lineOf[frame], row);
			}
			if (node < row.covered) continue;
			row.covered = stacks.past[node];
			row.value += values[node];
			row.blocks += blocks[node];
		}
		return [...rows.values()]
			.sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
			.map(({ frame, place, value, blocks }) => ({ frame, place, value, blocks }));
	}
}

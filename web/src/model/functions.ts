// SPDX-License-Identifier: MIT
// Functions: what each allocated, who calls it, whom it calls, and on which of its lines.
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
		const { start, first, stacks, count } = this.#contexts;
		const self = new Float64Array(n);
		const inclusive = new Float64Array(n);
		const blocks = new Float64Array(n);
		const onStacks = new Int32Array(n);
		const seen = new Int32Array(n);

		for (let i = 0; i < count; i++) {
			const value = weights.value[i];
			if (value === 0 || start[i] === start[i + 1]) continue;
			self[functionOf[stacks[first[i]]]] += value;
			for (let k = start[i]; k < start[i + 1]; k++) {
				const fn = functionOf[stacks[k]];
				if (seen[fn] === i + 1) continue;
				seen[fn] = i + 1;
				inclusive[fn] += value;
				blocks[fn] += weights.blocks[i];
				onStacks[fn]++;
			}
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

	/** Where the function stands outermost on a stack, as a place in `stacks`; -1: not on it. */
	#outermost(i: number, fn: number, whole: boolean): number {
		const { start, first, end, stacks } = this.#contexts;
		const from = whole ? start[i] : first[i];
		for (let k = (whole ? start[i + 1] : end[i]) - 1; k >= from; k--)
			if (this.#frames.functionOf[stacks[k]] === fn) return k;
		return -1;
	}

	/** From where it stands outermost, so that recursion counts once and both trees have one total. */
	around(weights: Weighed, fn: number, whole: boolean, outwards: boolean): Tree {
		const { start, first, end, stacks, count } = this.#contexts;
		const { functionOf } = this.#frames;
		const builder = new TreeBuilder(count);

		builder.fn[0] = fn;
		for (let i = 0; i < count; i++) {
			const value = weights.value[i];
			const at = value === 0 ? -1 : this.#outermost(i, fn, whole);
			if (at < 0) continue;
			const step = outwards ? 1 : -1;
			const stop = outwards
				? whole ? start[i + 1] : end[i]
				: (whole ? start[i] : first[i]) - 1;
			let node = 0;
			if (builder.frame[0] < 0) builder.frame[0] = stacks[at];
			for (let k = at + step; k !== stop; k += step)
				node = builder.child(node, functionOf[stacks[k]], stacks[k]);
			builder.end(node, i, value, weights.blocks[i]);
		}
		return new Tree(builder);
	}

	/** A stack counts once per line, however often recursion passes it. */
	lines(weights: Weighed, fn: number): LineRow[] {
		const { start, stacks, count } = this.#contexts;
		const { functionOf, lineOf } = this.#frames;
		const rows = new Map<number, LineRow & { last: number }>();

		for (let i = 0; i < count; i++) {
			if (weights.value[i] === 0) continue;
			for (let k = start[i]; k < start[i + 1]; k++) {
				const frame = stacks[k];
				if (functionOf[frame] !== fn) continue;
				let row = rows.get(lineOf[frame]);
				if (!row) {
					row = { frame, place: this.#frames.place(frame), value: 0, blocks: 0, last: -1 };
					rows.set(lineOf[frame], row);
				}
				if (row.last === i) continue;
				row.last = i;
				row.value += weights.value[i];
				row.blocks += weights.blocks[i];
			}
		}
		return [...rows.values()]
			.sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
			.map(({ frame, place, value, blocks }) => ({ frame, place, value, blocks }));
	}
}

// SPDX-License-Identifier: MIT
// The call stacks of all contexts as one tree of frames, as columns: a node is a stack, its parent the
// same stack without its innermost frame. Contexts that begin alike share nodes, and nodes stand in
// the order of a walk, so that what is below one is a range, and sums run backwards once.
import { array, type Damage, isIndex } from "./read";

export class Stacks {
	/** How many nodes there are; node 0 is the empty stack. */
	count = 1;
	parent = new Int32Array(1);
	/** The innermost frame. */
	frame = new Int32Array([-1]);
	/** How many frames. */
	depth = new Int32Array(1);
	/** By node the place behind all that is below it. */
	past = new Int32Array([1]);
	/** By context its stack. */
	readonly of: Int32Array;

	#open: number[] = [0];

	constructor(contexts: number, room: number) {
		this.of = new Int32Array(contexts);
		this.parent = new Int32Array(room + 1);
		this.frame = new Int32Array(room + 1);
		this.frame[0] = -1;
		this.depth = new Int32Array(room + 1);
		this.past = new Int32Array(room + 1);
	}

	/** The next context's stack goes on from the outermost `shared` frames of the one before. */
	cut(shared: number): void {
		this.#close(shared + 1);
	}

	/** All but the outermost nodes of the stack have nothing more below them. */
	#close(left: number): void {
		const open = this.#open;
		for (let k = open.length - 1; k >= left; k--) this.past[open[k]] = this.count;
		open.length = left;
	}

	push(frame: number): void {
		const node = this.count++;
		this.parent[node] = this.#open[this.#open.length - 1];
		this.frame[node] = frame;
		this.depth[node] = this.#open.length;
		this.#open.push(node);
	}

	get length(): number {
		return this.#open.length - 1;
	}

	end(context: number): void {
		this.of[context] = this.#open[this.#open.length - 1];
	}

	/** All stacks are there. */
	finish(): void {
		this.#close(0);
	}

	/** The node `by` frames further out. */
	up(node: number, by: number): number {
		let at = node;
		for (let k = 0; k < by && at !== 0; k++) at = this.parent[at];
		return at;
	}

	/** By node the sum of a column of contexts, over all stacks that begin with it. */
	sum(column: Float64Array): Float64Array {
		const sums = new Float64Array(this.count);
		for (let i = 0; i < this.of.length; i++) sums[this.of[i]] += column[i];
		for (let node = this.count - 1; node > 0; node--) sums[this.parent[node]] += sums[node];
		return sums;
	}
}

/** Flat: per context how many frames it shares with the one before, how many follow, and these. */
export function readColumns(list: unknown[], contexts: number, frames: number, damage: Damage): Stacks {
	const stacks = new Stacks(contexts, list.length);
	let at = 0;

	for (let i = 0; i < contexts; i++) {
		const shared = list[at++];
		const more = list[at++];
		if (!isIndex(shared, stacks.length + 1) || !isIndex(more, list.length - at + 1)) {
			damage.note("the call stacks end early");
			break;
		}
		stacks.cut(shared);
		for (const end = at + more; at < end; at++)
			if (isIndex(list[at], frames)) stacks.push(list[at] as number);
			else damage.note("a stack names a frame that is not there");
		stacks.end(i);
	}
	stacks.finish();
	return stacks;
}

/** Rows with an array of frames each, innermost first. */
export function readRows(rows: Record<string, unknown>[], frames: number, damage: Damage): Stacks {
	const lists = rows.map((row) => {
		const list = array(row.frames);
		const sound = list.filter((frame) => isIndex(frame, frames)) as number[];
		damage.note("a stack names a frame that is not there", list.length - sound.length);
		return sound.reverse();
	});
	const stacks = new Stacks(rows.length, lists.reduce((sum, list) => sum + list.length, 0));
	let before: number[] = [];

	lists.forEach((list, i) => {
		let shared = 0;
		while (shared < list.length && list[shared] === before[shared]) shared++;
		stacks.cut(shared);
		for (let k = shared; k < list.length; k++) stacks.push(list[k]);
		stacks.end(i);
		before = list;
	});
	stacks.finish();
	return stacks;
}

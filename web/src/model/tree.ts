// SPDX-License-Identifier: MIT
// A tree of functions with sums: top down from the root, or out of one function towards its callers
// or callees. Nodes are columns; a child is found by an open-addressing table keyed by its parent and
// function. Parents always come before their children, so sums run backwards over the columns once.

/** The function of node 0. */
export const ROOT = -1;
const FIRST_NODES = 1 << 12;
const FEW = 24;

const grown = <T extends Int32Array | Float64Array>(old: T, length: number): T => {
	const next = new (old.constructor as new (length: number) => T)(length);
	next.set(old);
	return next;
};

/** Grows a tree path by path, from the outermost function inwards. */
export class TreeBuilder {
	count = 1;
	parent: Int32Array;
	fn: Int32Array;
	/** One frame of the node, -1 for one that is no function. */
	frame: Int32Array;
	/** Value, blocks and width of the stacks that end at the node. */
	value: Float64Array;
	blocks: Float64Array;
	width: Float64Array;
	/** By context the node at which its stack ends; -1: it is not in the tree. */
	readonly ends: Int32Array;
	#slots: Int32Array;
	#mask: number;

	/** `nodes` is a guess at how many there will be. */
	constructor(contexts: number, nodes: number) {
		let room = FIRST_NODES;
		while (room < nodes) room *= 2;
		this.parent = new Int32Array(room);
		this.fn = new Int32Array(room);
		this.frame = new Int32Array(room);
		this.value = new Float64Array(room);
		this.blocks = new Float64Array(room);
		this.width = new Float64Array(room);
		this.#slots = new Int32Array(2 * room);
		this.#mask = 2 * room - 1;
		this.ends = new Int32Array(contexts).fill(-1);
		this.parent[0] = -1;
		this.fn[0] = ROOT;
		this.frame[0] = -1;
	}

	/** The child of `parent` for `fn`, made if need be. */
	child(parent: number, fn: number, frame: number): number {
		const slots = this.#slots;
		const mask = this.#mask;
		let slot = this.#slot(parent, fn);
		for (let node = slots[slot]; node !== 0; node = slots[slot]) {
			if (this.fn[node] === fn && this.parent[node] === parent) return node;
			slot = (slot + 1) & mask;
		}
		if (this.count === this.parent.length) {
			this.#grow();
			return this.child(parent, fn, frame);
		}
		const node = this.count++;
		this.#slots[slot] = node;
		this.parent[node] = parent;
		this.fn[node] = fn;
		this.frame[node] = frame;
		return node;
	}

	#slot(parent: number, fn: number): number {
		const hash = Math.imul(Math.imul(parent, 0x9e3779b1) ^ fn, 0x85ebca6b);
		return (hash ^ (hash >>> 15)) & this.#mask;
	}

	#grow(): void {
		const length = 2 * this.parent.length;
		this.parent = grown(this.parent, length);
		this.fn = grown(this.fn, length);
		this.frame = grown(this.frame, length);
		this.value = grown(this.value, length);
		this.blocks = grown(this.blocks, length);
		this.width = grown(this.width, length);
		this.#slots = new Int32Array(2 * length);
		this.#mask = 2 * length - 1;
		for (let node = 1; node < this.count; node++) {
			let slot = this.#slot(this.parent[node], this.fn[node]);
			while (this.#slots[slot] !== 0) slot = (slot + 1) & this.#mask;
			this.#slots[slot] = node;
		}
	}

	/** The stack of a context ends at `node`. */
	end(node: number, context: number, value: number, blocks: number): void {
		this.ends[context] = node;
		this.add(node, value, blocks);
	}

	/** Something without a context belongs to `node`. */
	add(node: number, value: number, blocks: number): void {
		this.value[node] += value;
		this.blocks[node] += blocks;
		this.width[node] += Math.abs(value);
	}
}

/** A finished tree. Of a report width and value are the same; of a diff width is what changed. */
export class Tree {
	readonly count: number;
	readonly parent: Int32Array;
	/** Number of the function, or below zero ROOT, NO_STACK ... */
	readonly fn: Int32Array;
	readonly frame: Int32Array;
	readonly self: Float64Array;
	readonly value: Float64Array;
	readonly blocks: Float64Array;
	/** What decides about the size of a node: never below zero. */
	readonly width: Float64Array;
	readonly depth: Int32Array;
	/** By context the node at which its stack ends; -1: it is not in the tree. */
	readonly ends: Int32Array;
	/** Where the node begins, from the left edge of the root, in units of width. */
	readonly x: Float64Array;
	/** Nodes in the order of a walk, the widest child first. */
	readonly order: Int32Array;
	/** By node: its place in `order`, and the place behind all that is below it. */
	readonly place: Int32Array;
	readonly past: Int32Array;
	/** Nodes by depth, then from left to right; those of depth d are rows[rowStart[d]..rowStart[d + 1]). */
	readonly rows: Int32Array;
	readonly rowStart: Int32Array;

	constructor(from: TreeBuilder) {
		const n = from.count;

		this.count = n;
		this.parent = from.parent.subarray(0, n);
		this.fn = from.fn.subarray(0, n);
		this.frame = from.frame.subarray(0, n);
		this.self = from.value.slice(0, n);
		this.value = from.value.subarray(0, n);
		this.blocks = from.blocks.subarray(0, n);
		this.width = from.width.subarray(0, n);
		this.ends = from.ends;
		const { parent, value, blocks, width } = this;
		for (let node = n - 1; node > 0; node--) {
			const outer = parent[node];
			value[outer] += value[node];
			blocks[outer] += blocks[node];
			width[outer] += width[node];
		}
		const depth = new Int32Array(n);
		for (let node = 1; node < n; node++) depth[node] = depth[parent[node]] + 1;
		this.depth = depth;
		this.x = new Float64Array(n);
		this.order = new Int32Array(n);
		this.place = new Int32Array(n);
		this.past = new Int32Array(n);
		this.#walk(...this.#childLists());
		[this.rows, this.rowStart] = this.#byDepth();
	}

	/** Children of each node beside each other, the widest first. */
	#childLists(): [children: Int32Array, start: Int32Array] {
		const { count: n, parent } = this;
		const start = new Int32Array(n + 1);
		const children = new Int32Array(n);
		for (let node = 1; node < n; node++) start[parent[node] + 1]++;
		for (let node = 0; node < n; node++) start[node + 1] += start[node];
		const next = start.slice(0, n);
		for (let node = 1; node < n; node++) children[next[parent[node]]++] = node;
		for (let node = 0; node < n; node++)
			if (start[node + 1] - start[node] > 1) this.#sort(children, start[node], start[node + 1]);
		return [children, start];
	}

	/** By width, the widest first. Nearly all nodes have few children: no call per comparison for them. */
	#sort(children: Int32Array, from: number, to: number): void {
		const { width } = this;
		if (to - from > FEW) {
			children.subarray(from, to).sort((a, b) => width[b] - width[a] || a - b);
			return;
		}
		for (let k = from + 1; k < to; k++) {
			const child = children[k];
			let at = k;
			for (; at > from && width[children[at - 1]] < width[child]; at--) children[at] = children[at - 1];
			children[at] = child;
		}
	}

	#walk(children: Int32Array, start: Int32Array): void {
		const { count, parent, width, x, order, place, past } = this;
		const stack = new Int32Array(count);
		let at = 0;

		for (let open = 1; open > 0; at++) {
			const node = stack[--open];
			place[node] = at;
			past[node] = at + 1;
			order[at] = node;
			for (let k = start[node], left = x[node]; k < start[node + 1]; k++) {
				x[children[k]] = left;
				left += width[children[k]];
			}
			for (let k = start[node + 1] - 1; k >= start[node]; k--) stack[open++] = children[k];
		}
		for (let k = count - 1; k > 0; k--) {
			const node = order[k];
			if (past[node] > past[parent[node]]) past[parent[node]] = past[node];
		}
	}

	#byDepth(): [rows: Int32Array, rowStart: Int32Array] {
		let deepest = 0;
		for (let node = 0; node < this.count; node++)
			if (this.depth[node] > deepest) deepest = this.depth[node];
		const start = new Int32Array(deepest + 2);
		for (let node = 0; node < this.count; node++) start[this.depth[node] + 1]++;
		for (let d = 0; d <= deepest; d++) start[d + 1] += start[d];
		const next = start.slice();
		const rows = new Int32Array(this.count);
		for (let k = 0; k < this.count; k++) {
			const node = this.order[k];
			rows[next[this.depth[node]]++] = node;
		}
		return [rows, start];
	}

	get height(): number {
		return this.rowStart.length - 1;
	}

	/** Is the node `top` itself, or below it? */
	holds(top: number, node: number): boolean {
		return this.place[node] >= this.place[top] && this.place[node] < this.past[top];
	}

	isLeaf(node: number): boolean {
		return this.past[node] === this.place[node] + 1;
	}

	/** The ancestor so many levels up; -1: there is none. */
	up(node: number, levels: number): number {
		if (levels < 0 || levels > this.depth[node]) return -1;
		let at = node;
		for (let k = 0; k < levels; k++) at = this.parent[at];
		return at;
	}

	/** The path of a node: from the root to itself. */
	path(node: number): number[] {
		const path: number[] = [];
		for (let at = node; at >= 0; at = this.parent[at]) path.push(at);
		return path.reverse();
	}

	/** Children, the widest first. */
	children(node: number): number[] {
		const children: number[] = [];
		for (let place = this.place[node] + 1; place < this.past[node]; place = this.past[this.order[place]])
			children.push(this.order[place]);
		return children;
	}

	#child(node: number, fn: number): number {
		for (let place = this.place[node] + 1; place < this.past[node]; place = this.past[this.order[place]])
			if (this.fn[this.order[place]] === fn) return this.order[place];
		return -1;
	}

	/**
	 * The node whose path below the root has these functions; the nearest ancestor there is.
	 * Functions that come before main may be missing in the tree, and so may NO_STACK ... in the path.
	 */
	find(functions: readonly number[]): number {
		const roots = [0];
		for (const root of roots) roots.push(...this.children(root).filter((child) => this.fn[child] < 0));
		let best = 0;
		let most = 0;

		for (let skip = 0; skip < functions.length && best === 0; skip++)
			for (const root of roots) {
				let node = root;
				let met = 0;
				for (let next = 0; skip + met < functions.length; met++, node = next) {
					next = this.#child(node, functions[skip + met]);
					if (next < 0) break;
				}
				if (met > most) [best, most] = [node, met];
			}
		return best;
	}

	/** By node the sum of a column of contexts. */
	sum(column: Float64Array): Float64Array {
		const sums = new Float64Array(this.count);
		for (let i = 0; i < this.ends.length; i++) if (this.ends[i] >= 0) sums[this.ends[i]] += column[i];
		for (let node = this.count - 1; node > 0; node--) sums[this.parent[node]] += sums[node];
		return sums;
	}

	/** What the nodes of these functions have together; what is below one of them counts once. */
	union(matches: Uint8Array): { value: number; width: number; nodes: number } {
		let value = 0;
		let width = 0;
		let nodes = 0;
		for (let place = 1, covered = 0; place < this.count; place++) {
			const node = this.order[place];
			if (!(this.fn[node] >= 0 && matches[this.fn[node]])) continue;
			nodes++;
			if (place < covered) continue;
			covered = this.past[node];
			value += this.value[node];
			width += this.width[node];
		}
		return { value, width, nodes };
	}
}

// SPDX-License-Identifier: MIT
// The contexts of a report, or the changes of a diff, as columns: what each weighs in each measure,
// its stack, and what filters ask about.
import type { Measure } from "../state";
import type { Frames } from "./frames";
import { array, type Damage, figure, isIndex, isObject, type Loose, object, text } from "./read";

export const MEASURES: Measure[] = ["live", "lost", "growing", "peak", "allocated", "temporary"];

/** Nodes below the root that are not functions: numbers below zero in place of a function's. */
export const NO_STACK = -2;
export const OTHER = -3;
export const TRUNCATED = -4;
export const CUT = -5;
/** Leaks whose call stack is not in the document. */
export const ELSEWHERE = -6;

const LOST = new Set<unknown>(["LOST", "LOST-CYCLE", "LOST-WITH"]);

/** Of a measure: keys of the value and of the blocks that belong to it. */
const KEYS: Partial<Record<Measure, [value: string, blocks: string | null]>> = {
	live: ["live_bytes", "live_blocks"],
	peak: ["peak_bytes", "peak_blocks"],
	allocated: ["alloc_bytes", "allocs"],
	temporary: ["temporary", null],
};

const DIFF_KEYS: Record<string, [value: string, blocks: string | null]> = {
	live: ["live_bytes", "live_blocks"],
	peak: ["peak_bytes", "peak_blocks"],
	allocs: ["allocs", null],
	temporary: ["temporary", null],
};

export interface Column {
	/** By context; of a diff after minus before, below zero where it shrank. */
	value: Float64Array;
	blocks: Float64Array;
}

/** Names, numbered in the order in which they are met. */
class Names {
	readonly list: string[] = [];
	#numbers = new Map<string, number>();

	number(name: string | null): number {
		if (name === null) return -1;
		let number = this.#numbers.get(name);
		if (number === undefined) {
			number = this.list.length;
			this.#numbers.set(name, number);
			this.list.push(name);
		}
		return number;
	}
}

export class Contexts {
	readonly count: number;
	/** By context where its frames begin in `stacks`; one more at the end. */
	readonly start: Uint32Array;
	/** Frame indexes, innermost first. */
	readonly stacks: Uint32Array;
	/** By context the part of `stacks` that is worth reading. */
	readonly first: Uint32Array;
	readonly end: Uint32Array;
	/** By context 0, or the node that stands between it and the root: NO_STACK ... */
	readonly special: Int8Array;
	readonly threads = new Names();
	readonly scopes = new Names();
	readonly threadOf: Int32Array;
	readonly scopeOf: Int32Array;
	/** Of leaks whose context is not in the document. */
	readonly lostElsewhere = { value: 0, blocks: 0 };
	/** Of a diff, by context. */
	readonly before: Float64Array;
	readonly after: Float64Array;
	readonly raw: Loose[];

	#columns = new Map<Measure, Column>();
	#epochs: unknown[];

	constructor(document: Loose, view: Loose, frames: Frames, diff: boolean, damage: Damage) {
		const list = array(diff ? document.changes : document.contexts);

		this.count = list.length;
		this.raw = list as Loose[];
		for (let i = 0; i < this.count; i++)
			if (!isObject(list[i])) {
				list[i] = {};
				damage.note("a context is no object");
			}
		this.start = new Uint32Array(this.count + 1);
		this.first = new Uint32Array(this.count);
		this.end = new Uint32Array(this.count);
		this.special = new Int8Array(this.count);
		this.threadOf = new Int32Array(this.count);
		this.scopeOf = new Int32Array(this.count);
		this.before = new Float64Array(diff ? this.count : 0);
		this.after = new Float64Array(diff ? this.count : 0);
		this.stacks = this.#readStacks(frames.count, damage);
		this.#readTrim(array(view.trim), damage);
		this.#readSigns();
		this.#epochs = this.raw.map((context) => context.epochs);
		if (diff) this.#readSides(document, damage);
		else this.#readFigures(document, damage);
	}

	#readStacks(frameCount: number, damage: Damage): Uint32Array {
		let total = 0;
		for (const context of this.raw) total += array(context.frames).length;
		const stacks = new Uint32Array(total);
		let at = 0;

		for (let i = 0; i < this.count; i++) {
			const frames = array(this.raw[i].frames);
			this.start[i] = at;
			for (let k = 0; k < frames.length; k++) {
				const frame = frames[k] as number;
				// Not an index: the comparison is false for what is no number.
				if (frame >= 0 && frame < frameCount && (frame >>> 0) === frame) stacks[at++] = frame;
				else damage.note("a stack names a frame that is not there");
			}
		}
		this.start[this.count] = at;
		return stacks;
	}

	#readTrim(trim: unknown[], damage: Damage): void {
		if (trim.length !== 2 * this.count) damage.note("the worthwhile part of stacks is not known");
		for (let i = 0; i < this.count; i++) {
			const depth = this.start[i + 1] - this.start[i];
			const first = trim[2 * i];
			const end = trim[2 * i + 1];
			const sound = isIndex(end, depth + 1) && isIndex(first, end);
			this.first[i] = this.start[i] + (sound ? (first as number) : 0);
			this.end[i] = this.start[i] + (sound ? (end as number) : depth);
		}
	}

	#readSigns(): void {
		for (let i = 0; i < this.count; i++) {
			const context = this.raw[i];
			const flags = array(context.flags);
			if (flags.includes("no-stack")) this.special[i] = NO_STACK;
			else if (flags.includes("other")) this.special[i] = OTHER;
			else if (context.truncated === true) this.special[i] = TRUNCATED;
			else if (flags.includes("cut")) this.special[i] = CUT;
			else if (this.start[i] === this.start[i + 1]) this.special[i] = NO_STACK;
			this.threadOf[i] = this.threads.number(text(context.thread));
			this.scopeOf[i] = this.scopes.number(text(context.scope));
		}
	}

	#add(measure: Measure): Column {
		const column = { value: new Float64Array(this.count), blocks: new Float64Array(this.count) };
		this.#columns.set(measure, column);
		return column;
	}

	#readFigures(document: Loose, damage: Damage): void {
		for (const [measure, [value, blocks]] of Object.entries(KEYS)) {
			const column = this.#add(measure as Measure);
			for (let i = 0; i < this.count; i++) {
				column.value[i] = figure(this.raw[i][value], damage);
				if (blocks) column.blocks[i] = figure(this.raw[i][blocks], damage);
			}
		}
		const growing = this.#add("growing");
		for (let i = 0; i < this.count; i++) {
			const growth = this.raw[i].growth;
			if (isObject(growth) && growth.verdict === "GROWING" && growth.returned !== true)
				growing.value[i] = figure(growth.bytes, damage);
		}
		this.#readLeaks(array(document.leaks), damage);
	}

	#readLeaks(leaks: unknown[], damage: Damage): void {
		const lost = this.#add("lost");
		const indexes = new Map<unknown, number>();

		if (leaks.length > 0)
			for (let i = this.count - 1; i >= 0; i--) indexes.set(this.raw[i].id, i);
		for (const item of leaks) {
			const leak = object(item);
			if (!LOST.has(leak.verdict)) continue;
			const value = figure(leak.bytes, damage);
			const blocks = figure(leak.blocks, damage);
			const i = leak.context == null ? undefined : indexes.get(leak.context);
			if (i !== undefined) {
				lost.value[i] += value;
				lost.blocks[i] += blocks;
			} else {
				this.lostElsewhere.value += value;
				this.lostElsewhere.blocks += blocks;
			}
		}
	}

	/** A diff has one measure, which every column shows. */
	#readSides(document: Loose, damage: Damage): void {
		const [value, blocks] = DIFF_KEYS[text(document.measure) ?? "live"] ?? DIFF_KEYS.live;
		const column = this.#add("live");

		for (const measure of MEASURES) this.#columns.set(measure, column);
		for (let i = 0; i < this.count; i++) {
			const before = object(this.raw[i].before);
			const after = object(this.raw[i].after);
			this.before[i] = figure(before[value], damage);
			this.after[i] = figure(after[value], damage);
			column.value[i] = this.after[i] - this.before[i];
			if (blocks) column.blocks[i] = figure(after[blocks], damage) - figure(before[blocks], damage);
		}
	}

	column(measure: Measure): Column {
		return this.#columns.get(measure) ?? this.#columns.get("live")!;
	}

	value(measure: Measure, i: number): number {
		return this.column(measure).value[i];
	}

	blocks(measure: Measure, i: number): number {
		return this.column(measure).blocks[i];
	}

	/** Frame indexes, innermost first; a view into `stacks`. */
	frames(i: number, whole: boolean): Uint32Array {
		return whole
			? this.stacks.subarray(this.start[i], this.start[i + 1])
			: this.stacks.subarray(this.first[i], this.end[i]);
	}

	/** Live bytes and blocks that were allocated in the epochs from..to. */
	inEpochs(from: number, to: number): Column {
		const column = { value: new Float64Array(this.count), blocks: new Float64Array(this.count) };
		for (let i = 0; i < this.count; i++)
			for (const item of array(this.#epochs[i])) {
				const share = object(item);
				const epoch = figure(share.epoch);
				if (epoch < from || epoch > to) continue;
				column.value[i] += figure(share.bytes);
				column.blocks[i] += figure(share.blocks);
			}
		return column;
	}
}

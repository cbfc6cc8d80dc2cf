// SPDX-License-Identifier: MIT
// The contexts of a report, or the changes of a diff, as columns: what each weighs in each measure,
// its stack, and what filters ask about.
import type { Fold } from "../document";
import type { Measure } from "../state";
import { array, type Damage, figure, isIndex, isObject, type Loose, object, text } from "./read";
import { readColumns, readRows, Stacks } from "./stacks";

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
const KEYS: Record<string, [value: string, blocks: string | null]> = {
	live: ["live_bytes", "live_blocks"],
	peak: ["peak_bytes", "peak_blocks"],
	allocated: ["alloc_bytes", "allocs"],
	temporary: ["temporary", null],
};
const DIFF_KEYS: typeof KEYS = { ...KEYS, allocs: ["allocs", null] };

const FIGURES = [
	"first_ms", "allocs", "alloc_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes",
	"peak_blocks", "peak_bytes", "temporary",
];
const FOLDED_OR_MORE = 65536;
const FOLDS_MAX = 100_000;

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
	readonly stacks: Stacks;
	/** By context how many of its innermost and outermost frames are not worth reading. */
	readonly inner: Int32Array;
	readonly outer: Int32Array;
	/** By context 0, or the node that stands between it and the root: NO_STACK ... */
	readonly special: Int8Array;
	readonly threads = new Names();
	readonly threadOf: Int32Array;
	/** By context the innermost scope that was open, by its place in the document; -1: none. */
	readonly scopeOf: Int32Array;
	/** Of leaks whose context is not in the document. */
	readonly lostElsewhere = { value: 0, blocks: 0 };
	/** Of a diff, by context. */
	readonly before: Float64Array;
	readonly after: Float64Array;

	#isDiff: boolean;
	#startNs: number;
	#kinds: unknown[] = [];
	#kind: unknown[] = [];
	#figures = new Map<string, Float64Array>();
	/** By context what few have; of a diff the whole change. */
	#others: (Loose | undefined)[];
	#folds = new Map<number, Fold[]>();
	#columns = new Map<Measure, Column>();

	constructor(document: Loose, view: Loose, frames: number, diff: boolean, damage: Damage) {
		const columns = object(document.contexts);
		const rows = array(document.changes).map(object);
		const stacks = array(columns.stacks);

		this.#isDiff = diff;
		this.#startNs = figure(object(document.process).start_ns);
		this.count = diff ? rows.length : Math.min(figure(columns.count, damage), stacks.length >> 1);
		if (!diff && this.count !== columns.count) damage.note("contexts are missing");
		this.stacks = diff
			? readRows(rows, frames, damage)
			: readColumns(stacks, this.count, frames, damage);
		this.#others = diff ? rows : this.#readOthers(array(columns.others), damage);
		this.inner = new Int32Array(this.count);
		this.outer = new Int32Array(this.count);
		this.special = new Int8Array(this.count);
		this.threadOf = new Int32Array(this.count);
		this.scopeOf = new Int32Array(this.count).fill(-1);
		this.before = new Float64Array(diff ? this.count : 0);
		this.after = new Float64Array(diff ? this.count : 0);
		this.#readTrim(array(view.trim), damage);
		this.#readSigns(array(document.scopes).length);
		if (diff) this.#readSides(document, damage);
		else {
			this.#readFigures(columns, damage);
			this.#readFolds(array(columns.folds), damage);
			this.#readLeaks(array(document.leaks), damage);
		}
	}

	#readOthers(list: unknown[], damage: Damage): (Loose | undefined)[] {
		const others: (Loose | undefined)[] = new Array(this.count).fill(undefined);
		for (const item of list) {
			const [i, other] = array(item);
			if (isIndex(i, this.count) && isObject(other)) others[i] = other;
			else damage.note("a context that is told of is not there");
		}
		return others;
	}

	#readTrim(trim: unknown[], damage: Damage): void {
		const { depth, of } = this.stacks;
		if (trim.length !== 2 * this.count) damage.note("the worthwhile part of stacks is not known");
		for (let i = 0; i < this.count; i++) {
			const inner = trim[2 * i];
			const outer = trim[2 * i + 1];
			const frames = depth[of[i]];
			// A stack with nothing worth reading is shown as it is.
			if (!isIndex(inner, frames) || !isIndex(outer, frames - inner)) continue;
			this.inner[i] = inner;
			this.outer[i] = outer;
		}
	}

	#readSigns(scopes: number): void {
		for (let i = 0; i < this.count; i++) {
			const other = this.#others[i];
			const flags = array(other?.flags);
			if (isIndex(other?.scope, scopes + 1)) this.scopeOf[i] = other.scope - 1;
			this.threadOf[i] = this.threads.number(text(other?.thread));
			if (flags.includes("no-stack")) this.special[i] = NO_STACK;
			else if (flags.includes("other")) this.special[i] = OTHER;
			else if (other?.truncated === true) this.special[i] = TRUNCATED;
			else if (flags.includes("cut")) this.special[i] = CUT;
			else if (this.stacks.of[i] === 0) this.special[i] = NO_STACK;
		}
	}

	#add(measure: Measure): Column {
		const column = { value: new Float64Array(this.count), blocks: new Float64Array(this.count) };
		this.#columns.set(measure, column);
		return column;
	}

	#readFigures(columns: Loose, damage: Damage): void {
		const nothing = new Float64Array(this.count);

		this.#kinds = array(columns.kinds);
		this.#kind = array(columns.kind);
		for (const key of FIGURES) {
			const list = array(columns[key]);
			const column = new Float64Array(this.count);
			if (list.length !== this.count) damage.note("figures of contexts are missing");
			for (let i = 0; i < this.count; i++) column[i] = figure(list[i], damage);
			this.#figures.set(key, column);
		}
		for (const [measure, [value, blocks]] of Object.entries(KEYS))
			this.#columns.set(measure as Measure, {
				value: this.#figures.get(value)!,
				blocks: blocks ? this.#figures.get(blocks)! : nothing,
			});
		const growing = this.#add("growing");
		for (let i = 0; i < this.count; i++) {
			const growth = this.#others[i]?.growth;
			if (isObject(growth) && growth.verdict === "GROWING" && growth.returned !== true)
				growing.value[i] = figure(growth.bytes, damage);
		}
	}

	/** Flat: per context with folds how far it is from the one before, how many, and three numbers each. */
	#readFolds(list: unknown[], damage: Damage): void {
		for (let at = 0, i = 0; at < list.length; ) {
			const further = list[at++];
			const count = list[at++];
			if (!isIndex(further, this.count - i) || !isIndex(count, FOLDS_MAX) || at + 3 * count > list.length) {
				damage.note("the folds of recursion end early");
				return;
			}
			i += further;
			const inmost = this.stacks.depth[this.stacks.of[i]] - 1;
			const folds: Fold[] = [];
			for (let k = 0; k < count; k++, at += 3) {
				const place = list[at];
				const extent = list[at + 1];
				const times = figure(list[at + 2], damage);
				if (!isIndex(place, inmost + 1) || !isIndex(extent, inmost - place + 1)) continue;
				const to = inmost - place;
				folds.push({ from: to - extent, to, times, or_more: times >= FOLDED_OR_MORE });
			}
			this.#folds.set(i, folds.reverse());
		}
	}

	#readLeaks(leaks: unknown[], damage: Damage): void {
		const lost = this.#add("lost");

		for (const item of leaks) {
			const leak = object(item);
			if (!LOST.has(leak.verdict)) continue;
			const value = figure(leak.bytes, damage);
			const blocks = figure(leak.blocks, damage);
			const i = typeof leak.context === "number" ? leak.context - 1 : -1;
			if (isIndex(i, this.count)) {
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
			const before = object(this.#others[i]?.before);
			const after = object(this.#others[i]?.after);
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

	/** Frame indexes, innermost first. */
	frames(i: number, whole: boolean): Uint32Array {
		const { stacks } = this;
		const first = whole ? 0 : this.inner[i];
		const length = stacks.depth[stacks.of[i]] - first - (whole ? 0 : this.outer[i]);
		const frames = new Uint32Array(Math.max(0, length));
		let node = stacks.up(stacks.of[i], first);

		for (let k = 0; k < frames.length; k++, node = stacks.parent[node]) frames[k] = stacks.frame[node];
		return frames;
	}

	/** Recursion that is folded in its stack; places as in frames(i, true). */
	folds(i: number): Fold[] {
		if (!this.#isDiff) return this.#folds.get(i) ?? [];
		return array(this.#others[i]?.folded).map((item) => {
			const fold = object(item);
			const [from, to] = [figure(fold.from), figure(fold.to)];
			return { from, to, times: figure(fold.times), or_more: fold.or_more === true };
		});
	}

	/** Contexts that have folds. */
	get folded(): number[] {
		if (!this.#isDiff) return [...this.#folds.keys()];
		return this.#others.flatMap((other, i) => (other?.folded ? [i] : []));
	}

	/**
	 * A context as docs/json.md describes it, without frames; `id` is its number from 1, and there is no
	 * hash. Of a diff the change as it stands in the document.
	 */
	row(i: number): Loose {
		if (this.#isDiff) return this.#others[i] ?? {};
		const row: Loose = { ...this.#others[i], id: i + 1, kind: this.kind(i), folded: this.folds(i) };
		for (const [key, column] of this.#figures) row[key] = column[i];
		row.first_ns = this.#startNs + (this.#figures.get("first_ms")?.[i] ?? 0) * 1e6;
		return row;
	}

	/** The name of its kind; "" where it is not known. */
	kind(i: number): string {
		if (this.#isDiff) return text(this.#others[i]?.kind) ?? "";
		const kind = this.#kind[i];
		return isIndex(kind, this.#kinds.length) ? (text(this.#kinds[kind]) ?? "") : "";
	}

	/** One of the figures of docs/json.md, of a report. */
	figure(key: string, i: number): number {
		return this.#figures.get(key)?.[i] ?? 0;
	}

	/** Of the epochs in which its live blocks were allocated: number, blocks and bytes. */
	epochs(i: number): { epoch: number; blocks: number; bytes: number }[] {
		return array(this.#others[i]?.epochs).map((item) => {
			const share = object(item);
			return { epoch: figure(share.epoch), blocks: figure(share.blocks), bytes: figure(share.bytes) };
		});
	}

	/** What was seen of it in the course of time, as docs/json.md says; null: nothing. */
	growth(i: number): Loose | null {
		const growth = this.#others[i]?.growth;
		return isObject(growth) ? growth : null;
	}

	/** Live bytes and blocks that were allocated in the epochs from..to. */
	inEpochs(from: number, to: number): Column {
		const column = { value: new Float64Array(this.count), blocks: new Float64Array(this.count) };
		for (let i = 0; i < this.count; i++) {
			if (!this.#others[i]?.epochs) continue;
			for (const { epoch, blocks, bytes } of this.epochs(i)) {
				if (epoch < from || epoch > to) continue;
				column.value[i] += bytes;
				column.blocks[i] += blocks;
			}
		}
		return column;
	}
}

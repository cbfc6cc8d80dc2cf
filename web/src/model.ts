// SPDX-License-Identifier: MIT
// What the page knows of a profile: the JSON document as columns, and the questions that views ask.
//
// weigh() answers a state's measure and filters once; trees, tables and totals are made from the
// weights it returns. Contexts are numbered as in the columns of document.contexts (of a diff
// document.changes). Nothing that a file holds makes a call throw: what is wrong reads as nothing
// and is told in `damage`.
import type { DiffDocument, ReportDocument, View } from "./document";
import type { Measure, State } from "./state";
import { type Column, Contexts, CUT, ELSEWHERE, MEASURES, NO_STACK, OTHER, TRUNCATED } from "./model/contexts";
import { Frames, type FrameText, shown } from "./model/frames";
import { Functions, type FunctionTable, type LineRow } from "./model/functions";
import { array, Damage, isObject, type Loose, object, text } from "./model/read";
import { Scopes, TAGS } from "./model/scopes";
import { ROOT, Tree, TreeBuilder } from "./model/tree";

export { CUT, ELSEWHERE, MEASURES, NO_STACK, OTHER, ROOT, Tree, TRUNCATED };
export type { FrameText, FunctionTable, LineRow, Measure };

/** Of measures that may be unknown, their key in the totals. */
const TOTAL_OF: Partial<Record<Measure, string>> = {
	live: "live_bytes", peak: "peak_bytes", allocated: "alloc_bytes", temporary: "temporary",
};

/** Those of all measures, and of a few filters. */
const WEIGHTS_KEPT = 12;
const TREES_KEPT = 4;

const SPECIAL: Record<number, string> = {
	[ROOT]: "all",
	[NO_STACK]: "(no stack)",
	[OTHER]: "(stacks met after the ledger was full)",
	[TRUNCATED]: "(callers unknown)",
	[CUT]: "(callers not stored)",
	[ELSEWHERE]: "(call stack not in this report)",
};

/** The part of the state that decides what a context weighs. */
export type Selection = Pick<State, "measure" | "thread" | "scope" | "module" | "epochs">;

/** What each context weighs in a measure: 0 where filters leave it out. */
export interface Weights extends Column {
	measure: Measure;
	/** By context 1 where the filters keep it; null: all. */
	keep: Uint8Array | null;
	/** Sums of the two columns. */
	total: number;
	blockTotal: number;
	/** How many contexts have a value. */
	count: number;
	/** Lost bytes of call stacks that are not in the document; in the total. */
	elsewhere: number;
	/** Of a diff the sum of all changes whatever their sign; else the total. */
	width: number;
}

export class Model {
	readonly doc: ReportDocument | DiffDocument;
	readonly view: View;
	readonly isDiff: boolean;
	readonly frames: Frames;
	readonly contexts: Contexts;
	readonly functions: Functions;
	readonly scopes: Scopes;
	/** Known measures with anything in them; of a diff the first stands for its own. */
	readonly measures: Measure[];
	/** What is wrong with the file, in sentences; empty: nothing. */
	readonly damage: string[];

	#apart: Loose;
	#trees: { weights: Weights; whole: boolean; scoped: boolean; tree: Tree }[] = [];
	#weights: { key: string; weights: Weights }[] = [];

	constructor(input: unknown) {
		const damage = new Damage();
		const both = object(input);
		const document = object(both.document);
		const view = object(both.view);

		if (!isObject(both.document)) damage.note("the file has no document");
		if (!isObject(both.view)) damage.note("the file has no view");
		this.doc = document as unknown as ReportDocument | DiffDocument;
		this.view = view as unknown as View;
		this.#apart = object(view.apart);
		this.isDiff = view.kind === "diff" || (Array.isArray(document.changes) && !document.contexts);
		this.frames = new Frames(document, view, damage);
		this.contexts = new Contexts(document, view, this.frames.count, this.isDiff, damage);
		this.scopes = new Scopes(array(document.scopes), damage);
		this.functions = new Functions(this.frames, this.contexts);
		this.measures = this.isDiff ? [this.#diffMeasure()] : this.#withAnything();
		this.damage = damage.sentences;
	}

	get report(): ReportDocument | null {
		return this.isDiff ? null : (this.doc as ReportDocument);
	}

	get diff(): DiffDocument | null {
		return this.isDiff ? (this.doc as DiffDocument) : null;
	}

	#diffMeasure(): Measure {
		const measure = (this.doc as DiffDocument).measure;
		return measure === "allocs" ? "allocated" : MEASURES.includes(measure) ? measure : "live";
	}

	#withAnything(): Measure[] {
		const { lostElsewhere } = this.contexts;
		return MEASURES.filter(
			(measure) =>
				this.knows(TOTAL_OF[measure]) &&
				(this.contexts.column(measure).value.some((value) => value !== 0) ||
					(measure === "lost" && lostElsewhere.value > 0)),
		);
	}

	/**
	 * Whether a figure of all contexts, by its name in `totals`, is known: of an imported profile some
	 * are null there, and 0 in each context.
	 */
	knows(total: string | undefined): boolean {
		return total === undefined || object((this.doc as ReportDocument).totals)[total] !== null;
	}

	/** What is looked at first, as everywhere else. */
	get mainMeasure(): Measure {
		const leads = object((this.doc as ReportDocument).lead).measure;
		const measure = leads === "allocs" ? "allocated" : leads;
		return this.measures.find((one) => one === measure) ?? this.measures[0] ?? "live";
	}

	/** What a context is called in one line: the function to blame, and what tells it from others. */
	contextName(i: number): string {
		const told = text(this.#apart[i]);
		if (told !== null) return shown(told);
		const frames = this.contexts.frames(i, false);
		return this.functionName(frames.length ? this.frames.functionOf[frames[0]] : this.contexts.special[i] || NO_STACK);
	}

	/** Whether figures of the measure are bytes; else they count allocations. */
	isBytes(measure: Measure): boolean {
		return measure !== "temporary" && !(this.isDiff && measure === "allocated");
	}

	/** Whether numbers of blocks belong to the measure. */
	hasBlocks(measure: Measure): boolean {
		return this.isBytes(measure) && measure !== "growing";
	}

	/** What each context weighs. The same object for the same selection. */
	weigh(selection: Selection): Weights {
		const { measure, thread, scope, module, epochs } = selection;
		const key = JSON.stringify([measure, thread, scope, module, epochs]);
		const at = this.#weights.findIndex((entry) => entry.key === key);
		// The one that was asked for last stands first, and is forgotten last.
		const [entry] = at >= 0 ? this.#weights.splice(at, 1) : [{ key, weights: this.#weighAnew(selection) }];

		this.#weights.unshift(entry);
		this.#weights.length = Math.min(this.#weights.length, WEIGHTS_KEPT);
		return entry.weights;
	}

	#weighAnew(selection: Selection): Weights {
		const { measure, epochs } = selection;
		const inEpochs = measure === "live" && !this.isDiff ? epochs : null;
		const all = inEpochs ? this.contexts.inEpochs(...inEpochs) : this.contexts.column(measure);
		const keep = this.#keep(selection);
		const blind = keep === null && measure === "lost" && !this.isDiff;
		const elsewhere = blind ? this.contexts.lostElsewhere : { value: 0, blocks: 0 };
		const value = keep ? all.value.map((item, i) => (keep[i] ? item : 0)) : all.value;
		const blocks = keep ? all.blocks.map((item, i) => (keep[i] ? item : 0)) : all.blocks;
		const weights = {
			measure, keep, value, blocks,
			total: elsewhere.value, blockTotal: elsewhere.blocks, count: 0,
			elsewhere: elsewhere.value, width: elsewhere.value,
		};

		for (let i = 0; i < value.length; i++) {
			weights.total += value[i];
			weights.blockTotal += blocks[i];
			weights.width += Math.abs(value[i]);
			if (value[i] !== 0) weights.count++;
		}
		return weights;
	}

	/** Threads by name, scopes by a tag that was open, modules by index: a frame of it from main inwards is needed. */
	#keep({ thread, scope, module }: Selection): Uint8Array | null {
		const { contexts } = this;

		if (thread === null && scope === null && module === null) return null;
		const keep = new Uint8Array(contexts.count).fill(1);
		// Contexts without a thread have the number -1, which no name has.
		const threadAt = contexts.threads.list.includes(thread ?? "") ? contexts.threads.list.indexOf(thread ?? "") : -2;
		const open = scope === null ? null : this.scopes.open(scope);
		const deepest = module === null ? null : this.#deepestIn(Number(module));
		for (let i = 0; i < contexts.count; i++) {
			if (thread !== null && contexts.threadOf[i] !== threadAt) keep[i] = 0;
			if (open && !open[contexts.scopeOf[i]]) keep[i] = 0;
			if (deepest && deepest[contexts.stacks.of[i]] <= contexts.outer[i]) keep[i] = 0;
		}
		return keep;
	}

	/** By node of the stacks the depth of its innermost frame in a module; 0: none. */
	#deepestIn(module: number): Int32Array {
		const { stacks } = this.contexts;
		const deepest = new Int32Array(stacks.count);
		for (let node = 1; node < stacks.count; node++)
			deepest[node] = this.frames.moduleOf[stacks.frame[node]] === module
				? stacks.depth[node]
				: deepest[stacks.parent[node]];
		return deepest;
	}

	/** The call tree, from the root inwards. The same object for the same weights. */
	tree(weights: Weights, whole: boolean, scoped = false): Tree {
		const at = this.#trees.findIndex((one) => one.weights === weights && one.whole === whole && one.scoped === scoped);
		const [entry] = at >= 0
			? this.#trees.splice(at, 1)
			: [{ weights, whole, scoped, tree: new Tree(this.#grow(weights, whole, scoped)) }];

		this.#trees.unshift(entry);
		this.#trees.length = Math.min(this.#trees.length, TREES_KEPT);
		return entry.tree;
	}

	/**
	 * By node of the stacks it is known which node of the tree it became, as long as what comes between
	 * it and the root is the same: how many outermost frames are left out, the special node, and the scope.
	 */
	#grow(weights: Weights, whole: boolean, scoped: boolean): TreeBuilder {
		const { contexts, frames } = this;
		const { stacks, special, inner, outer } = contexts;
		const { of, depth, parent, frame } = stacks;
		const { functionOf } = frames;
		const builder = new TreeBuilder(contexts.count, stacks.count + 8);
		const known = new Int32Array(stacks.count);
		const knownRoot = new Float64Array(stacks.count).fill(-1);
		const way: number[] = [];
		const tags = (scope: number): number =>
			scope < 0 ? 0 : builder.child(tags(this.scopes.parent[scope]), TAGS - this.scopes.tagOf[scope], -1);

		for (let i = 0; i < contexts.count; i++) {
			const value = weights.value[i];
			if (value === 0) continue;
			const least = whole ? 0 : outer[i];
			const scope = scoped ? contexts.scopeOf[i] : -1;
			const root = 2 ** 32 * (scope + 1) + 8 * least - special[i];
			let at = whole ? of[i] : stacks.up(of[i], inner[i]);
			let steps = 0;
			while (depth[at] > least && knownRoot[at] !== root) {
				way[steps++] = at;
				at = parent[at];
			}
			let node = depth[at] > least ? known[at] : special[i] ? builder.child(tags(scope), special[i], -1) : tags(scope);
			while (steps > 0) {
				const stack = way[--steps];
				node = builder.child(node, functionOf[frame[stack]], frame[stack]);
				known[stack] = node;
				knownRoot[stack] = root;
			}
			builder.end(node, i, value, weights.blocks[i]);
		}
		if (weights.elsewhere > 0)
			builder.add(builder.child(0, ELSEWHERE, -1), weights.elsewhere, contexts.lostElsewhere.blocks);
		return builder;
	}

	/**
	 * By node of a call tree how often what begins there follows itself in the deepest stack: "×17",
	 * "×65536+", "×17 (period 2)", as in a terminal.
	 */
	repeats(tree: Tree, whole: boolean): Map<number, string> {
		const { contexts } = this;
		const most = new Map<number, number>();
		const words = new Map<number, string>();

		for (const i of contexts.folded) {
			if (tree.ends[i] < 0) continue;
			for (const { from, to, times, or_more } of contexts.folds(i)) {
				const node = tree.up(tree.ends[i], to - (whole ? 0 : contexts.inner[i]));
				if (node <= 0 || tree.fn[node] < 0 || (most.get(node) ?? 1) >= Number(times)) continue;
				most.set(node, Number(times));
				words.set(node, `×${times}${or_more ? "+" : ""}${to > from ? ` (period ${to - from + 1})` : ""}`);
			}
		}
		return words;
	}

	/** By context 1 where a function of its stack is among the matching ones. */
	passing(matches: Uint8Array): Uint8Array {
		const { stacks, count } = this.contexts;
		const met = new Uint8Array(stacks.count);
		for (let node = 1; node < stacks.count; node++)
			met[node] = met[stacks.parent[node]] | matches[this.frames.functionOf[stacks.frame[node]]];
		return Uint8Array.from({ length: count }, (_, i) => met[stacks.of[i]]);
	}

	/** Brief name of a function, or of what stands in the place of one. */
	functionName(fn: number): string {
		return fn >= 0 ? this.frames.name(fn) : (SPECIAL[fn] ?? this.scopes.tags[TAGS - fn] ?? "");
	}

	frameText(frame: number): FrameText {
		return this.frames.text(frame);
	}

	/** Every function with what it allocated itself and what it and all that it calls allocated. */
	functionTable(weights: Weights): FunctionTable {
		return this.functions.table(weights);
	}

	/** Trees out of one function: the root is the function itself. */
	callers(weights: Weights, fn: number, whole: boolean): Tree {
		return this.functions.around(weights, fn, whole, true);
	}

	callees(weights: Weights, fn: number, whole: boolean): Tree {
		return this.functions.around(weights, fn, whole, false);
	}

	/** Source lines of a function, the largest first. */
	lines(weights: Weights, fn: number): LineRow[] {
		return this.functions.lines(weights, fn);
	}
}

/** Never throws: of what is no JSON, or of another shape, the model is empty and `damage` says so. */
export function loadModel(input: string | object): Model {
	if (typeof input !== "string") return new Model(input);
	try {
		return new Model(JSON.parse(input) as Loose);
	} catch (error) {
		const model = new Model({ view: {}, document: {} });
		model.damage.unshift(`the file is no JSON: ${String(error).slice(0, 200)}`);
		return model;
	}
}

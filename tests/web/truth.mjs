// SPDX-License-Identifier: MIT
// What the page has to show, worked out from what --json prints, and from nothing of the page.

import { contextsOf } from "./rewrite.mjs";

export const KEYS = { live: "live_bytes", peak: "peak_bytes", allocated: "alloc_bytes", temporary: "temporary" };
const LOST = ["LOST", "LOST-CYCLE", "LOST-WITH"];

export const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);

/** By id of a context what it has of a measure. */
export function values(doc, measure) {
	const found = new Map();

	for (const context of doc.contexts) {
		const { verdict, bytes, returned } = context.growth ?? {};
		if (KEYS[measure]) found.set(context.id, context[KEYS[measure]]);
		else if (measure === "growing") found.set(context.id, verdict === "GROWING" && !returned ? bytes : 0);
		else found.set(context.id, 0);
	}
	if (measure === "lost")
		for (const leak of doc.leaks)
			if (LOST.includes(leak.verdict)) found.set(leak.context, found.get(leak.context) + leak.bytes);
	return found;
}

export const total = (doc, measure) => sum([...values(doc, measure).values()], (value) => value);

export const name = (doc, frame) => doc.frames[frame].function;

/** Functions of a context, outermost first, in which none is left out. */
export const path = (doc, context) => context.frames.map((frame) => name(doc, frame)).reverse();

/** The call tree: nodes { name, value, children by name }. */
export function tree(doc, measure, keep = () => true) {
	const root = { name: "all", value: 0, children: new Map() };
	const weights = values(doc, measure);

	for (const context of doc.contexts) {
		const value = weights.get(context.id);
		if (!value || !keep(context)) continue;
		let node = root;
		node.value += value;
		for (const function_ of path(doc, context)) {
			if (!node.children.has(function_)) node.children.set(function_, { name: function_, value: 0, children: new Map() });
			node = node.children.get(function_);
			node.value += value;
		}
	}
	return root;
}

/** By function what it allocated itself, and what it and all that it calls did; by values of contexts. */
function tally(contexts) {
	const found = new Map();

	for (const { names, blamed, value } of contexts) {
		if (!value) continue;
		for (const one of new Set(names)) {
			const entry = found.get(one) ?? { own: 0, inclusive: 0, stacks: 0 };
			entry.inclusive += value;
			entry.stacks++;
			if (one === blamed) entry.own += value;
			found.set(one, entry);
		}
	}
	return found;
}

/** Where the innermost frame is to blame. */
export function functions(doc, measure) {
	const weights = values(doc, measure);
	return tally(doc.contexts.map((context) => {
		const names = path(doc, context);
		return { names, blamed: names.at(-1), value: weights.get(context.id) };
	}));
}

/** Of a page's data, which say how many frames allocate for their caller. */
export function blamedFunctions(data, measure) {
	const { document } = data;
	return tally(contextsOf(data).map(({ index, frames, inner }) => {
		const names = frames.map((at) => name(document, at));
		return { names, blamed: names[inner], value: document.contexts[KEYS[measure]][index] };
	}));
}

/** What lives of what was allocated in these epochs. */
export function survivors(doc, from, to) {
	const shares = doc.contexts.flatMap((context) => (context.epochs ?? []).filter(({ epoch }) => epoch >= from && epoch <= to));
	return { bytes: sum(shares, ({ bytes }) => bytes), blocks: sum(shares, ({ blocks }) => blocks) };
}

const FIGURES = ["allocs", "alloc_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes", "temporary"];

/** A document of --json whose contexts are one where a page has them as one: where they have the same lines. */
export function merged(doc) {
	if (!Array.isArray(doc.contexts)) return doc;
	const found = new Map();
	const firsts = new Map();

	for (const context of [...doc.contexts].sort((a, b) => a.id - b.id)) {
		const lines = context.frames.map((at) => doc.frames[at]).map((one) => [one.module, one.function ?? one.offset, one.file, one.line]);
		const key = JSON.stringify([lines, context.kind, context.thread]);
		const one = found.get(key);
		firsts.set(context.id, one?.id ?? context.id);
		if (!one) { found.set(key, { ...context, epochs: structuredClone(context.epochs ?? []) }); continue; }
		for (const figure of FIGURES) one[figure] += context[figure];
		one.first_ns = Math.min(one.first_ns, context.first_ns);
		for (const share of context.epochs ?? []) {
			const same = one.epochs.find(({ epoch }) => epoch === share.epoch);
			if (same) { same.blocks += share.blocks; same.bytes += share.bytes; } else one.epochs.push({ ...share });
		}
	}
	const kept = new Set(found.values());
	return {
		...doc,
		contexts: [...kept].sort((a, b) => b.live_bytes - a.live_bytes),
		leaks: doc.leaks.map((leak) => ({ ...leak, context: firsts.get(leak.context) ?? leak.context })),
	};
}

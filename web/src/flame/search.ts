// SPDX-License-Identifier: MIT
// Search by name: a substring in any case, or a regular expression between slashes.
import type { Model } from "../model";

const QUERY_CHARACTERS_MAX = 500;
const TIME_MS_MAX = 1500;

export interface Matches {
	/** By function 1 where it matches; null: nothing is searched for. */
	of: Uint8Array | null;
	functions: number;
	/** Why the query cannot be searched for, or only in part. */
	problem: string | null;
}

const NONE: Matches = { of: null, functions: 0, problem: null };

/** Repeated groups that repeat inside take time without bounds on some names. */
function isUnbounded(source: string): boolean {
	const plain = source.replace(/\\./g, "x").replace(/\[[^\]]*\]/g, "x");
	for (let text = plain; ; ) {
		if (/\([^()]*([*+}]|\|)[^()]*\)([*+]|\{\d+,)/.test(text)) return true;
		const inner = text.replace(/\((?:[^()]*)\)/g, (group) => (/[*+}|]/.test(group) ? "x+" : "x"));
		if (inner === text) return false;
		text = inner;
	}
}

/** A test, of the text as it is or in lower case. */
export interface Test {
	lowered: boolean;
	holds: (text: string) => boolean;
}

/** The test for a query; or why there is none. */
export function compile(query: string): Test | string {
	const parts = /^\/(.*)\/(i?)$/s.exec(query);

	if (query.length > QUERY_CHARACTERS_MAX) return "The search is too long.";
	if (!parts) {
		const wanted = query.toLowerCase();
		return { lowered: true, holds: (text) => text.includes(wanted) };
	}
	if (!parts[1]) return "The regular expression is empty.";
	if (isUnbounded(parts[1]))
		return "The regular expression repeats a repetition or a choice, which can take for ever.";
	try {
		const pattern = new RegExp(parts[1], `${parts[2]}mu`);
		return { lowered: false, holds: (text) => pattern.test(text) };
	} catch (error) {
		return `No regular expression: ${String((error as Error).message).replace(/^Invalid regular expression: /, "")}`;
	}
}

let known: { model: Model; query: string; matches: Matches } | null = null;

/** Functions whose name, file or module matches. */
export function search(model: Model, query: string): Matches {
	if (!query || query === "/") return NONE;
	if (known && known.model === model && known.query === query) return known.matches;
	const test = compile(query);
	const matches: Matches = { of: new Uint8Array(model.frames.functionCount), functions: 0, problem: null };

	if (typeof test === "string") {
		matches.of = null;
		matches.problem = test;
	} else {
		const until = performance.now() + TIME_MS_MAX;
		const texts = test.lowered ? model.frames.lowered : model.frames.haystacks;
		for (let fn = 0; fn < texts.length; fn++) {
			if ((fn & 15) === 0 && performance.now() > until) {
				matches.problem = "The search took too long; only some functions were looked at.";
				break;
			}
			if (!test.holds(texts[fn])) continue;
			matches.of![fn] = 1;
			matches.functions++;
		}
	}
	known = { model, query, matches };
	return matches;
}

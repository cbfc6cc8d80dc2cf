// SPDX-License-Identifier: MIT
// What the program annotated by tags: each scope is a tag under those that were open around it.
import { type Damage, figure, isIndex, type Loose, object, text } from "./read";
import { shown } from "./frames";

/** Nodes of a call tree that stand for a tag have this number, and those below it. */
export const TAGS = -100;
const DEPTH_MAX = 4096;

export class Scopes {
	/** As in docs/json.md. */
	readonly rows: Loose[];
	/** By scope its parent, which comes before it; -1: none. */
	readonly parent: Int32Array;
	readonly depth: Int32Array;
	/** By scope the number of its tag. */
	readonly tagOf: Int32Array;
	/** In the order in which they are met. */
	readonly tags: string[];

	constructor(list: unknown[], damage: Damage) {
		const numbers = new Map<string, number>();

		this.rows = list.map(object);
		this.parent = new Int32Array(list.length).fill(-1);
		this.depth = new Int32Array(list.length);
		this.tagOf = Int32Array.from(this.rows, (row) => {
			const tag = shown(text(row.tag) ?? "");
			if (!numbers.has(tag)) numbers.set(tag, numbers.size);
			return numbers.get(tag)!;
		});
		this.tags = [...numbers.keys()];
		for (const [i, row] of this.rows.entries()) {
			const parent = figure(row.parent) - 1;
			if (parent < 0) continue;
			if (isIndex(parent, i) && this.depth[parent] < DEPTH_MAX) {
				this.parent[i] = parent;
				this.depth[i] = this.depth[parent] + 1;
			} else damage.note("a scope is in none that comes before it");
		}
	}

	/** By scope 1 where the tag was open. */
	open(tag: string): Uint8Array {
		const number = this.tags.indexOf(tag);
		const open = new Uint8Array(this.rows.length);
		for (let i = 0; i < open.length; i++)
			open[i] = this.tagOf[i] === number || (this.parent[i] >= 0 && open[this.parent[i]]) ? 1 : 0;
		return open;
	}

	/** The tags that were open, outermost first: "tenant=42/parse"; "" for none. */
	path(i: number): string {
		const tags = [];
		for (let at = i; at >= 0; at = this.parent[at]) tags.push(this.tags[this.tagOf[at]]);
		return tags.reverse().join("/");
	}

	/** All, each behind the one around it, those that hold most first. */
	ordered(): number[] {
		const held = (i: number) => figure(object(this.rows[i].inclusive).held_bytes);
		const children = new Map<number, number[]>();
		const order: number[] = [];
		for (const [i, parent] of this.parent.entries()) children.set(parent, [...(children.get(parent) ?? []), i]);
		for (const list of children.values()) list.sort((a, b) => held(a) - held(b) || b - a);
		for (const left = [...(children.get(-1) ?? [])]; left.length > 0; ) {
			const i = left.pop()!;
			order.push(i);
			left.push(...(children.get(i) ?? []));
		}
		return order;
	}
}

// SPDX-License-Identifier: MIT
// Which boxes are in sight, and which box is at a place: binary searches over the rows of a tree.
import type { Tree } from "../model";

/** The part of a tree that is shown: what is below `top`, of it [from, from + span) in units of width. */
export interface Window {
	tree: Tree;
	top: number;
	from: number;
	span: number;
}

export const windowOf = (tree: Tree, top: number): Window => ({
	tree,
	top,
	from: tree.x[top],
	span: tree.width[top],
});

/** The first place in rows[low..high) for which `holds`, which must hold from some place on. */
function first(low: number, high: number, holds: (at: number) => boolean): number {
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (holds(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}

/** Places in tree.rows of the nodes in sight, `row` rows below the top: [low, high). */
export function inSight({ tree, top, from, span }: Window, row: number): [low: number, high: number] {
	const { rows, rowStart, place, past, x, width } = tree;
	const depth = tree.depth[top] + row;

	if (row < 0 || depth >= tree.height) return [0, 0];
	let low = first(rowStart[depth], rowStart[depth + 1], (at) => place[rows[at]] >= place[top]);
	let high = first(low, rowStart[depth + 1], (at) => place[rows[at]] >= past[top]);
	low = first(low, high, (at) => x[rows[at]] + width[rows[at]] > from);
	high = first(low, high, (at) => x[rows[at]] >= from + span);
	return [low, high];
}

/** Rows down to the last with a box of at least `least` units; at least 1. */
export function rowsInSight(window: Window, least: number): number {
	const { rows, width } = window.tree;
	const most = window.tree.height - window.tree.depth[window.top];

	for (let row = 1; row < most; row++) {
		const [low, high] = inSight(window, row);
		let found = false;
		for (let at = low; at < high && !found; at++) found = width[rows[at]] >= least;
		if (!found) return row;
	}
	return most;
}

/** The node `row` rows below the top at the place `x`; -1: none. */
export function nodeAt(window: Window, row: number, x: number): number {
	const { rows, x: left, width } = window.tree;
	const [low, high] = inSight(window, row);
	const at = first(low, high, (k) => left[rows[k]] + width[rows[k]] > x);

	return at < high && left[rows[at]] <= x ? rows[at] : -1;
}

/** The next node to the left or right in the same row; the node itself at the end. */
export function beside(window: Window, node: number, step: 1 | -1): number {
	const { rows, rowStart, depth, place } = window.tree;
	const low = rowStart[depth[node]];
	const at = first(low, rowStart[depth[node] + 1], (k) => place[rows[k]] >= place[node]) + step;
	const other = at >= low && at < rowStart[depth[node] + 1] ? rows[at] : -1;

	return other >= 0 && window.tree.holds(window.top, other) ? other : node;
}

/** The highest ancestor below which the node takes at least `share` of the width. */
export function roomyTop(tree: Tree, node: number, share: number): number {
	const path = tree.path(node);
	return path.find((at) => tree.width[node] >= share * tree.width[at]) ?? node;
}

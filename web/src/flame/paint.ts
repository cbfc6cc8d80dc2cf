// SPDX-License-Identifier: MIT
// Draws the boxes in sight on a canvas. Fills come first, one pass a row; labels after them, since a
// change between both is what costs most.
import type { Model, Tree } from "../model";
import { inSight, type Window } from "./geometry";
import type { Ruler } from "./label";
import { type Kind, moduleShades, type Palette, scatter, SHADES, step } from "./palette";

export type Tint = "origin" | "module";

export interface Scene {
	model: Model;
	window: Window;
	matches: Uint8Array | null;
	tint: Tint;
	/** By node what of its value is lost; null: nothing is marked. */
	lost: Float64Array | null;
	/** By node how often recursion that begins there is folded. */
	repeats: ReadonlyMap<number, string>;
	/** A value as text. */
	valueText: (value: number) => string;
	/** Of a diff: by node what both sides have of it, for the share of change. */
	sides: { before: Float64Array; after: Float64Array } | null;
}

/** Where the scene goes. Sizes are CSS pixels. */
export interface Paper {
	context: CanvasRenderingContext2D;
	ratio: number;
	width: number;
	height: number;
	rowHeight: number;
	/** How far the rows are scrolled. */
	scroll: number;
	/** Of all rows; in the flame direction the root is at the bottom. */
	contentHeight: number;
	upwards: boolean;
	font: string;
	ruler: Ruler;
	palette: Palette;
}

const LABEL_MIN = 26;
const PADDING = 4;

/** The upper edge of a row, in CSS pixels of the canvas. */
export const rowTop = (paper: Paper, row: number): number =>
	(paper.upwards ? paper.contentHeight - (row + 1) * paper.rowHeight : row * paper.rowHeight) -
	paper.scroll;

export const rowAt = (paper: Paper, y: number): number =>
	Math.floor(
		(paper.upwards ? paper.contentHeight - y - paper.scroll : y + paper.scroll) / paper.rowHeight,
	);

/** Functions' fills by node, with what dims or marks them. */
class Fills {
	#scene: Scene;
	#palette: Palette;
	#byFunction: (string | undefined)[] = [];

	constructor(scene: Scene, palette: Palette) {
		this.#scene = scene;
		this.#palette = palette;
	}

	#ofFunction(fn: number): string {
		const { model, tint } = this.#scene;
		const { frames } = model;
		const shade = scatter(fn, SHADES);

		if (tint === "module") {
			const frame = frames.frameOf[fn];
			return moduleShades(this.#palette, frame < 0 ? -1 : frames.moduleOf[frame])[shade];
		}
		return this.#palette.origin[frames.origin(fn) as Kind][shade];
	}

	#ofChange(node: number): string {
		const { before, after } = this.#scene.sides!;
		const change = after[node] - before[node];
		const most = Math.max(after[node], before[node]);
		const share = most > 0 ? Math.abs(change) / most : 0;

		return (change < 0 ? this.#palette.shrank : this.#palette.grew)[step(share)];
	}

	isMatch(tree: Tree, node: number): boolean {
		const { matches } = this.#scene;
		return matches !== null && tree.fn[node] >= 0 && matches[tree.fn[node]] === 1;
	}

	of(tree: Tree, node: number): string {
		const fn = tree.fn[node];

		if (this.#scene.matches) return this.isMatch(tree, node) ? this.#palette.match : this.#palette.dim;
		if (this.#scene.sides) return this.#ofChange(node);
		if (fn < 0) return fn === -1 ? this.#palette.root : this.#palette.special;
		return (this.#byFunction[fn] ??= this.#ofFunction(fn));
	}
}

interface Label {
	node: number;
	left: number;
	room: number;
	y: number;
}

/** Draws everything; returns how many boxes were drawn. */
export function paint(scene: Scene, paper: Paper): number {
	const { context, ratio, width, height, rowHeight, palette } = paper;
	const fills = new Fills(scene, palette);
	const labels: Label[] = [];
	const edges = [rowAt(paper, 0), rowAt(paper, height)];
	const last = Math.max(...edges);
	let boxes = 0;

	context.setTransform(1, 0, 0, 1, 0, 0);
	context.fillStyle = palette.background;
	context.fillRect(0, 0, Math.ceil(width * ratio), Math.ceil(height * ratio));
	for (let row = Math.max(0, Math.min(...edges)); row <= last; row++) {
		const top = rowTop(paper, row);
		if (top + rowHeight <= 0 || top >= height) continue;
		boxes += paintRow(scene, paper, fills, row, labels);
	}
	write(scene, paper, fills, labels);
	return boxes;
}

/** Boxes narrower than two pixels join those beside them of the same colour, so that they cost no more. */
function paintRow(scene: Scene, paper: Paper, fills: Fills, row: number, labels: Label[]): number {
	const { tree, from, span } = scene.window;
	const { rows, x, width } = tree;
	const { context, ratio, palette } = paper;
	const scale = (paper.width * ratio) / span;
	const most = Math.round(paper.width * ratio);
	const [low, high] = inSight(scene.window, row);
	const y = rowTop(paper, row);
	const top = Math.round(y * ratio);
	const tall = Math.round((y + paper.rowHeight) * ratio) - top - Math.max(1, Math.round(ratio / 2));
	const gap = Math.max(1, Math.round(ratio / 2));
	let boxes = 0;
	let runLeft = 0;
	let runRight = -1;
	let runFill = "";

	const flush = () => {
		if (runRight < 0) return;
		context.fillStyle = runFill;
		context.fillRect(runLeft, top, Math.max(1, runRight - runLeft), tall);
		boxes++;
		runRight = -1;
	};
	for (let at = low; at < high; at++) {
		const node = rows[at];
		const left = Math.max(0, Math.round((x[node] - from) * scale));
		const right = Math.min(most, Math.round((x[node] + width[node] - from) * scale));
		if (right - left < 2) {
			// What is searched for shows wherever it is, other boxes only one in each pixel.
			const matches = scene.matches !== null && fills.isMatch(tree, node);
			if (left < runRight && !(matches && runFill !== palette.match)) continue;
			const fill = fills.of(tree, node);
			if (left > runRight || fill !== runFill) {
				flush();
				runLeft = left;
				runFill = fill;
			}
			runRight = Math.max(right, left + 1);
			continue;
		}
		flush();
		context.fillStyle = fills.of(tree, node);
		context.fillRect(left, top, right - left - (right - left > 3 ? gap : 0), tall);
		boxes++;
		if (scene.lost && scene.lost[node] > 0) stripe(scene, paper, node, left, right - gap, top + tall);
		const room = (right - left) / ratio - 2 * PADDING;
		if (room + 2 * PADDING >= LABEL_MIN) labels.push({ node, left: left / ratio + PADDING, room, y });
	}
	flush();
	return boxes;
}

/** What of a box is lost, as a hatched stripe along its lower edge. */
function stripe(scene: Scene, paper: Paper, node: number, left: number, right: number, bottom: number) {
	const { context, ratio, palette } = paper;
	const share = Math.min(1, scene.lost![node] / scene.window.tree.value[node]);
	const end = left + Math.max(2, (right - left) * share);
	const tall = Math.max(2, Math.round(2.5 * ratio));
	const dash = Math.round(4 * ratio);

	context.fillStyle = palette.lost;
	for (let x = left; x < end; x += dash + Math.round(1.5 * ratio))
		context.fillRect(x, bottom - tall, Math.min(dash, end - x), tall);
}

const VALUE_GAP = 10;

function write(scene: Scene, paper: Paper, fills: Fills, labels: Label[]): void {
	const { context, ratio, palette, ruler } = paper;
	const { tree } = scene.window;
	const middle = paper.rowHeight / 2 - 0.5;
	const values: { text: string; left: number; y: number }[] = [];

	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = paper.font;
	context.textBaseline = "middle";
	for (const dimmed of [false, true]) {
		if (dimmed && !scene.matches) break;
		context.fillStyle = dimmed ? palette.dimText : scene.matches ? palette.matchText : palette.text;
		for (const { node, left, room, y } of labels) {
			if (scene.matches && fills.isMatch(tree, node) === dimmed) continue;
			const name = labelOf(scene, node);
			const text = ruler.fit(name, room);
			if (!text) continue;
			const value = text === name && !dimmed ? scene.valueText(tree.value[node]) : "";
			const used = ruler.width(name) + VALUE_GAP;
			if (value && used + ruler.width(value) <= room) {
				context.fillText(text, left, y + middle);
				values.push({ text: value, left: left + used, y });
			} else context.fillText(withSign(scene, paper, node, name, text, room), left, y + middle);
		}
	}
	context.fillStyle = scene.matches ? palette.matchText : palette.softText;
	for (const { text, left, y } of values) context.fillText(text, left, y + middle);
}

/** Of a diff the sign stands before the name where there is no room for the value behind it. */
function withSign(scene: Scene, paper: Paper, node: number, name: string, text: string, room: number): string {
	if (!scene.sides) return text;
	const sign = scene.window.tree.value[node] < 0 ? "− " : "+ ";
	const fitting = paper.ruler.fit(name, room - paper.ruler.width(sign));
	return fitting ? sign + fitting : text;
}

/** The name, with how often recursion repeats it. */
function labelOf(scene: Scene, node: number): string {
	const name = scene.model.functionName(scene.window.tree.fn[node]);
	const times = scene.repeats.size > 0 ? scene.repeats.get(node) : undefined;

	return times ? `${name} ${times}` : name;
}

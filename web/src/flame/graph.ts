// SPDX-License-Identifier: MIT
// One flame graph on two canvases: boxes below, the focus and what the pointer is over above, so that
// moving through it draws no box again. The canvases are as large as what is seen of the sheet that
// scrolls, not as the tree is deep.
import { beside, nodeAt, rowsInSight, type Window, windowOf } from "./geometry";
import { Ruler } from "./label";
import { paint, type Paper, rowAt, rowTop, type Scene } from "./paint";
import type { Palette } from "./palette";
import { Gestures } from "./gestures";

export interface Look {
	scene: Omit<Scene, "window"> & { tree: Window["tree"]; top: number };
	palette: Palette;
	upwards: boolean;
	focus: number;
}

export interface Callbacks {
	focus: (node: number) => void;
	zoom: (node: number) => void;
	/** The pointer is over a box, at this place of the page; -1: over none. */
	hover: (node: number, x: number, y: number) => void;
	/** After boxes were drawn. */
	drawn: (boxes: number, ms: number) => void;
}

export interface Elements {
	scroller: HTMLElement;
	sheet: HTMLElement;
	base: HTMLCanvasElement;
	overlay: HTMLCanvasElement;
}

const ROW_HEIGHT = 20;
/** For fingers, and where few rows would leave the room empty. */
const ROW_HEIGHT_LARGE = 26;
const FONT = '12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif';
/** The narrowest span, as a share of the top's width. */
const SPAN_LEAST = 1e-9;
const PRINT_WIDTH = 1000;
const PRINT_ROWS = 44;
const PRINT_RATIO = 3;

function sized(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
	const [x, y] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
	if (canvas.width !== x) canvas.width = x;
	if (canvas.height !== y) canvas.height = y;
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
}

export class Graph {
	#elements: Elements;
	#calls: Callbacks;
	#context: CanvasRenderingContext2D;
	#over: CanvasRenderingContext2D;
	#ruler: Ruler;
	#look: Look | null = null;
	#window: Window | null = null;
	#hovered = -1;
	#width = 0;
	#height = 0;
	#contentHeight = 0;
	#asked = 0;
	#stale = false;
	#printing: Palette | null = null;
	#rowHeight = ROW_HEIGHT;
	#coarse = matchMedia("(pointer: coarse)").matches;
	#observer: ResizeObserver;
	#gestures: Gestures;

	constructor(elements: Elements, calls: Callbacks) {
		this.#elements = elements;
		this.#calls = calls;
		this.#context = elements.base.getContext("2d", { alpha: false })!;
		this.#over = elements.overlay.getContext("2d")!;
		this.#context.font = FONT;
		this.#ruler = new Ruler((text) => this.#context.measureText(text).width);
		this.#observer = new ResizeObserver(() => this.#resize());
		this.#observer.observe(elements.scroller);
		elements.scroller.addEventListener("scroll", this.#ask);
		this.#gestures = new Gestures(elements.overlay, {
			hover: (x, y, pageX, pageY) => this.#hover(x, y, pageX, pageY),
			leave: () => this.#hover(-1, -1, 0, 0),
			pick: (x, y, touch) => this.#pick(x, y, touch),
			scale: (factor, x) => this.scale(factor, x),
			pan: (pixels) => this.#pan(pixels),
		});
	}

	end(): void {
		this.#observer.disconnect();
		this.#gestures.end();
		this.#elements.scroller.removeEventListener("scroll", this.#ask);
		cancelAnimationFrame(this.#asked);
	}

	/** Shows something else. A new tree or top begins with the whole of its width. */
	show(look: Look): void {
		const { tree, top } = look.scene;
		const other = !this.#window || this.#window.tree !== tree || this.#window.top !== top;
		const turned = this.#look?.upwards !== look.upwards;
		const moved = this.#look?.focus !== look.focus;

		this.#look = look;
		if (other) {
			this.#window = windowOf(tree, top);
			this.#hovered = -1;
		}
		this.#layout();
		if (other || turned) this.#elements.scroller.scrollTop = look.upwards ? this.#contentHeight : 0;
		if (other || turned || moved) this.#reveal();
		this.draw();
	}

	#resize(): void {
		const { clientWidth, clientHeight } = this.#elements.scroller;
		if (clientWidth === this.#width && clientHeight === this.#height) return;
		const first = this.#width === 0;
		this.#width = clientWidth;
		this.#height = clientHeight;
		this.#layout();
		if (first && this.#look?.upwards) this.#elements.scroller.scrollTop = this.#contentHeight;
		if (clientWidth > 0) this.draw();
	}

	/** How high all rows are; a row with nothing of a pixel's width is none. */
	#layout(): void {
		if (!this.#window || this.#width === 0) return;
		const rows = rowsInSight(this.#window, this.#window.span / this.#width);
		const large = !this.#printing && (this.#coarse || rows * ROW_HEIGHT_LARGE <= this.#height);
		this.#rowHeight = large ? ROW_HEIGHT_LARGE : ROW_HEIGHT;
		this.#contentHeight = Math.max(rows * this.#rowHeight, this.#height);
		this.#elements.sheet.style.height = `${this.#contentHeight}px`;
	}

	#paper(): Paper {
		return {
			context: this.#context,
			ratio: this.#printing ? PRINT_RATIO : devicePixelRatio || 1,
			width: this.#width,
			height: this.#height,
			rowHeight: this.#rowHeight,
			scroll: this.#elements.scroller.scrollTop,
			contentHeight: this.#contentHeight,
			upwards: this.#look!.upwards,
			font: FONT,
			ruler: this.#ruler,
			palette: this.#printing ?? this.#look!.palette,
		};
	}

	#scene(): Scene {
		const { tree: _tree, top: _top, ...scene } = this.#look!.scene;
		return { ...scene, window: this.#window! };
	}

	#ask = (): void => {
		this.#stale = true;
		this.#asked ||= requestAnimationFrame(() => {
			this.#asked = 0;
			if (this.#stale) this.draw();
			else this.#mark();
		});
	};

	/** Draws now. */
	draw(): void {
		this.#stale = false;
		if (!this.#look || !this.#window || this.#width === 0) return;
		const begun = performance.now();
		const paper = this.#paper();

		sized(this.#elements.base, this.#width, this.#height, paper.ratio);
		const boxes = paint(this.#scene(), paper);
		this.#mark();
		this.#calls.drawn(boxes, performance.now() - begun);
	}

	/** The focus box, and the box that the pointer is over. */
	#mark(): void {
		if (!this.#look || this.#width === 0) return;
		const paper = this.#paper();
		const { ratio, palette } = paper;

		sized(this.#elements.overlay, this.#width, this.#height, ratio);
		this.#over.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.#over.clearRect(0, 0, this.#width, this.#height);
		if (this.#printing) return;
		if (this.#hovered >= 0 && this.#hovered !== this.#look.focus)
			this.#outline(paper, this.#hovered, [[palette.focus, 1, 0.5]]);
		if (this.#look.focus >= 0)
			this.#outline(paper, this.#look.focus, [[palette.focus, 2, 1], [palette.focusGap, 1, 2.5]]);
	}

	#outline(paper: Paper, node: number, strokes: [colour: string, width: number, inset: number][]): void {
		const { tree, top, from, span } = this.#window!;
		if (!tree.holds(top, node)) return;
		const scale = this.#width / span;
		const y = rowTop(paper, tree.depth[node] - tree.depth[top]);
		const left = Math.max(-4, (tree.x[node] - from) * scale);
		const right = Math.min(this.#width + 4, (tree.x[node] + tree.width[node] - from) * scale);
		const wide = Math.max(right - left, 5);

		for (const [colour, width, inset] of strokes) {
			this.#over.strokeStyle = colour;
			this.#over.lineWidth = width;
			this.#over.strokeRect(left + inset, y + inset, wide - 2 * inset, paper.rowHeight - 1 - 2 * inset);
		}
	}

	#nodeAt(x: number, y: number): number {
		if (!this.#window || !this.#look || x < 0) return -1;
		const { from, span } = this.#window;
		return nodeAt(this.#window, rowAt(this.#paper(), y), from + (x / this.#width) * span);
	}

	#hover(x: number, y: number, pageX: number, pageY: number): void {
		const node = this.#nodeAt(x, y);
		this.#calls.hover(node, pageX, pageY);
		if (node === this.#hovered) return;
		this.#hovered = node;
		this.#asked ||= requestAnimationFrame(() => {
			this.#asked = 0;
			if (this.#stale) this.draw();
			else this.#mark();
		});
	}

	/** By touch the first tap focuses and the second zooms; a click does both. */
	#pick(x: number, y: number, touch: boolean): void {
		const node = this.#nodeAt(x, y);
		if (node < 0) return;
		const again = node === this.#look!.focus;
		this.#calls.focus(node);
		if (!touch || again) this.#calls.zoom(node);
	}

	/** Widens what is at the place `x` of the canvas, or with a factor below 1 narrows it. */
	scale(factor: number, x = this.#width / 2): void {
		if (!this.#window) return;
		const { tree, top, from, span } = this.#window;
		const all = tree.width[top];
		const next = Math.min(all, Math.max(all * SPAN_LEAST, span / factor));
		const at = from + (x / this.#width) * span;
		this.#window.span = next;
		this.#moveTo(at - (x / this.#width) * next);
	}

	#pan(pixels: number): void {
		if (this.#window) this.#moveTo(this.#window.from + (pixels / this.#width) * this.#window.span);
	}

	#moveTo(from: number): void {
		const { tree, top, span } = this.#window!;
		const left = tree.x[top];
		this.#window!.from = Math.min(Math.max(from, left), left + tree.width[top] - span);
		this.#layout();
		this.#ask();
	}

	/** Scrolls so that the focus is in sight. */
	#reveal(): void {
		const { tree, top, from, span } = this.#window!;
		const focus = this.#look!.focus;
		const { scroller } = this.#elements;
		if (focus < 0 || this.#height === 0) return;
		if (!tree.holds(top, focus)) return;
		if (tree.x[focus] + tree.width[focus] <= from || tree.x[focus] >= from + span)
			this.#moveTo(tree.x[focus] + tree.width[focus] / 2 - span / 2);
		const y = rowTop(this.#paper(), tree.depth[focus] - tree.depth[top]);
		if (y < 0) scroller.scrollTop += y - this.#rowHeight;
		else if (y + this.#rowHeight > this.#height)
			scroller.scrollTop += y + 2 * this.#rowHeight - this.#height;
	}

	/** The box above, below or beside the focus; the top where nothing is focused yet. */
	neighbour(step: "out" | "in" | "left" | "right"): number {
		const { tree, top } = this.#window!;
		const { focus } = this.#look!;

		if (focus < 0 || !tree.holds(top, focus)) return top;
		if (step === "out") return focus === top ? focus : tree.parent[focus];
		if (step === "in") return tree.isLeaf(focus) ? focus : tree.order[tree.place[focus] + 1];
		return beside(this.#window!, focus, step === "left" ? -1 : 1);
	}

	/** Draws for paper: its width, all rows that fit, the colours of the light theme; null: as before. */
	print(palette: Palette | null): void {
		if (!this.#window || !this.#look) return;
		this.#printing = palette;
		const { scroller } = this.#elements;
		const rows = rowsInSight(this.#window, this.#window.span / PRINT_WIDTH);
		this.#width = palette ? PRINT_WIDTH : scroller.clientWidth;
		this.#height = palette ? Math.min(rows, PRINT_ROWS) * ROW_HEIGHT : scroller.clientHeight;
		this.#layout();
		this.draw();
	}
}

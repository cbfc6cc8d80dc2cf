// SPDX-License-Identifier: MIT
// Live bytes, resident set and rate of allocation over time, by uPlot. Times are seconds from the
// start of the process. The brush snaps to epochs.
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { epochName, type Facts } from "../facts";
import { bytes, count, duration, things } from "../format";
import { figure, object } from "../model/read";
import { colour, useSize, useTheme } from "./hooks";

interface Props {
	facts: Facts;
	height: number;
	/** In pixels, where it is not to follow the room that there is. */
	width?: number;
	/** What is drawn: bytes, or allocations per second. */
	what: "bytes" | "rate";
	/** Without axes' names, marks' names and brush. */
	small?: boolean;
	epochs?: [number, number] | null;
	brush?: (epochs: [number, number] | null) => void;
}

const POINTS_MAX = 4000;

const seconds = (facts: Facts, ns: number) => (ns - facts.startNs) / 1e9;

/** By sample: seconds, live, resident. The largest of neighbours where there are too many. */
function byteColumns(facts: Facts): uPlot.AlignedData {
	const step = Math.ceil(facts.timeline.length / POINTS_MAX);
	const columns: [number[], number[], (number | null)[]] = [[], [], []];

	const totals = object(facts.doc.totals);
	const peakAt = figure(totals.peak_at_ns);
	let peaked = peakAt === 0;

	for (let i = 0; i < facts.timeline.length; i += step) {
		const some = facts.timeline.slice(i, i + step);
		const { at } = some[some.length - 1];
		// The peak was met between two samples most often.
		if (!peaked && peakAt <= at) {
			peaked = true;
			columns[0].push(seconds(facts, Math.min(peakAt, at - 1)));
			columns[1].push(figure(totals.peak_bytes));
			columns[2].push(null);
		}
		columns[0].push(seconds(facts, at));
		columns[1].push(Math.max(...some.map((one) => one.live)));
		// 0: not known at that time.
		columns[2].push(Math.max(...some.map((one) => one.rss)) || null);
	}
	return columns;
}

/** Allocations per second, over stretches of a three-hundredth of the run or longer. */
function rateColumns(facts: Facts): uPlot.AlignedData {
	const least = (facts.endNs - facts.startNs) / 300;
	const columns: [number[], (number | null)[]] = [[], []];
	let last = { at: facts.startNs, allocs: 0 };

	for (const sample of facts.timeline) {
		const length = sample.at - last.at;
		if (length < least || length <= 0) continue;
		if (!columns[0].length) {
			columns[0].push(seconds(facts, last.at));
			columns[1].push(null);
		}
		columns[0].push(seconds(facts, sample.at));
		columns[1].push(Math.max(0, ((sample.allocs - last.allocs) * 1e9) / length));
		last = sample;
	}
	return columns;
}

type Ink = (name: string) => string;

function drawMarks(plot: uPlot, facts: Facts, ink: Ink, small: boolean): void {
	const { ctx, bbox } = plot;
	const scale = devicePixelRatio;
	let free = -Infinity;

	ctx.save();
	ctx.font = `${11 * scale}px ${getComputedStyle(document.body).fontFamily}`;
	ctx.textAlign = "left";
	ctx.textBaseline = "top";
	for (const mark of facts.marks) {
		const x = Math.round(plot.valToPos(seconds(facts, mark.at), "x", true)) + 0.5;
		if (x < bbox.left || x > bbox.left + bbox.width) continue;
		ctx.strokeStyle = ink(mark.name ? "muted" : "line");
		ctx.lineWidth = scale;
		ctx.setLineDash([3 * scale, 3 * scale]);
		ctx.beginPath();
		ctx.moveTo(x, bbox.top);
		ctx.lineTo(x, bbox.top + bbox.height);
		ctx.stroke();
		if (small || !mark.name) continue;
		const text = mark.name.length > 28 ? `${mark.name.slice(0, 27)}…` : mark.name;
		const width = ctx.measureText(text).width;
		const left = x + 4 * scale + width > bbox.left + bbox.width ? x - 4 * scale - width : x + 4 * scale;
		if (left < free) continue;
		free = left + width + 8 * scale;
		ctx.fillStyle = ink("soft");
		ctx.fillText(text, left, bbox.top + 2 * scale);
	}
	ctx.restore();
}

function drawPeak(plot: uPlot, facts: Facts, ink: Ink, small: boolean): void {
	const totals = object(facts.doc.totals);
	const peak = figure(totals.peak_bytes);
	const at = figure(totals.peak_at_ns);
	const { ctx, bbox } = plot;
	const scale = devicePixelRatio;

	if (!peak || !at) return;
	const x = plot.valToPos(seconds(facts, at), "x", true);
	const y = plot.valToPos(peak, "y", true);
	const text = small ? bytes(peak) : `peak ${bytes(peak)}`;
	ctx.save();
	ctx.fillStyle = ink("warn-mark");
	ctx.beginPath();
	ctx.arc(x, y, 3.5 * scale, 0, 7);
	ctx.fill();
	ctx.font = `600 ${11 * scale}px ${getComputedStyle(document.body).fontFamily}`;
	ctx.fillStyle = ink("warn");
	ctx.textAlign = "left";
	ctx.textBaseline = "bottom";
	const width = ctx.measureText(text).width;
	const left = Math.min(Math.max(bbox.left + 2, x - width / 2), bbox.left + bbox.width - width);
	ctx.strokeStyle = ink("panel");
	ctx.lineJoin = "round";
	ctx.lineWidth = 4 * scale;
	ctx.strokeText(text, left, y - 5 * scale);
	ctx.fillText(text, left, y - 5 * scale);
	ctx.restore();
}

/** What is brushed, snapped to its epochs. */
function drawBrushed(plot: uPlot, facts: Facts, ink: Ink, epochs: [number, number] | null | undefined): void {
	const within = epochs && facts.epochs.filter((one) => one.number >= epochs[0] && one.number <= epochs[1]);
	const { ctx, bbox } = plot;

	if (!within?.length) return;
	const left = plot.valToPos(seconds(facts, within[0].fromNs), "x", true);
	const right = plot.valToPos(seconds(facts, within[within.length - 1].toNs), "x", true);
	const from = Math.max(bbox.left, left);
	ctx.save();
	ctx.fillStyle = ink("accent-soft");
	ctx.fillRect(from, bbox.top, Math.min(bbox.left + bbox.width, right) - from, bbox.height);
	ctx.restore();
}

/** The epochs that a stretch of time touches by a tenth of their length or more, at least one. */
function snap(facts: Facts, from: number, to: number): [number, number] {
	const [low, high] = [facts.startNs + from * 1e9, facts.startNs + to * 1e9];
	const touched = facts.epochs.filter((one) => {
		const length = Math.max(1, one.toNs - one.fromNs);
		return Math.min(high, one.toNs) - Math.max(low, one.fromNs) >= length / 10;
	});
	const middle = (low + high) / 2;
	const some = touched.length
		? touched
		: facts.epochs.filter((one, i) => (one.fromNs <= middle || i === 0) && (middle < one.toNs || i === facts.epochs.length - 1));
	return [some[0].number, some[some.length - 1].number];
}

const axisTime = (facts: Facts) => (_: uPlot, ticks: number[]) => {
	const long = facts.endNs - facts.startNs;
	const text = (tick: number) => {
		if (long >= 60e9) return duration(Math.round(tick * 1e9));
		return long < 1e9 ? `${Number((tick * 1000).toPrecision(4))} ms` : `${Number(tick.toPrecision(4))} s`;
	};
	return ticks.map((tick) => (tick === 0 ? "0" : text(tick)));
};

const BYTE_STEPS = Array.from({ length: 55 }, (_, i) => 2 ** i);
const DAY = 86400;
/** Seconds: 1, 2 and 5 of each power of ten, then parts of minutes, hours and days. */
const TIME_STEPS = [
	...[1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1].flatMap((step) => [step, 2 * step, 5 * step]),
	10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, DAY, 2 * DAY, 7 * DAY,
];

function options(props: Props, width: number, data: uPlot.AlignedData, ink: Ink): uPlot.Options {
	const { facts, what, small } = props;
	const last = facts.timeline.length ? facts.timeline[facts.timeline.length - 1].at : 0;
	const peak = what === "bytes" ? figure(object(facts.doc.totals).peak_bytes) : 0;
	const top = data.slice(1).reduce((most, column) => (column as (number | null)[]).reduce<number>((a, b) => Math.max(a, b ?? 0), most), peak);
	const line = { stroke: ink("line"), width: 1 };
	const text = { stroke: ink("muted"), font: `11px ${getComputedStyle(document.body).fontFamily}` };
	const labels = what === "bytes" ? bytes : (value: number) => `${count(Math.round(value))}/s`;
	const series: uPlot.Series[] = what === "bytes"
		? [
				{ label: "live", stroke: ink("accent"), width: 1.5, fill: `${ink("accent")}22`, points: { show: false } },
				{ label: "resident", stroke: ink("strong"), width: 1, spanGaps: true, points: { show: false } },
			]
		: [{ label: "allocations", stroke: ink("accent"), width: 1.25, paths: uPlot.paths.stepped!({ align: -1 }), points: { show: false } }];

	return {
		width,
		height: props.height,
		padding: [small ? 16 : 18, small ? 8 : 22, 0, 0],
		legend: { show: false },
		cursor: {
			show: !small,
			y: false,
			points: { size: 6 },
			drag: { x: !!props.brush, y: false, setScale: false },
			sync: { key: "timeline" },
		},
		select: { show: !!props.brush, left: 0, top: 0, width: 0, height: 0 },
		scales: {
			x: { time: false, range: () => [0, Math.max(1e-6, seconds(facts, Math.max(facts.endNs, last)))] },
			y: { range: () => [0, Math.max(1, top) * 1.04] },
		},
		axes: [
			{ ...text, grid: { show: false }, ticks: { ...line, size: 4 }, values: axisTime(facts), incrs: TIME_STEPS, size: small ? 22 : 26, gap: 3, space: 70 },
			{ ...text, grid: line, ticks: { show: false }, values: (_, ticks) => ticks.map(labels), size: 62, gap: 4, space: what === "rate" ? 16 : small ? 30 : 36,
				...(what === "bytes" ? { incrs: BYTE_STEPS } : {}) },
		],
		series: [{}, ...series],
		hooks: {
			drawAxes: [(plot) => drawBrushed(plot, facts, ink, props.epochs)],
			draw: [
				(plot) => {
					drawMarks(plot, facts, ink, small === true || what === "rate");
					if (what === "bytes") drawPeak(plot, facts, ink, small === true);
				},
			],
			setSelect: [
				(plot) => {
					const { left, width: wide } = plot.select;
					if (wide < 2 || !props.brush) return;
					plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
					props.brush(snap(facts, plot.posToVal(left, "x"), plot.posToVal(left + wide, "x")));
				},
			],
		},
	};
}

/** Dragging with a finger does what the mouse does; a tap takes the epoch that it meets. */
function touch(plot: uPlot, props: Props): () => void {
	const { over } = plot;
	let from: number | null = null;
	const place = (event: PointerEvent) => event.clientX - over.getBoundingClientRect().left;
	const select = (to: number) =>
		plot.setSelect({ left: Math.min(from!, to), width: Math.abs(to - from!), top: 0, height: over.clientHeight }, false);
	const down = (event: PointerEvent) => {
		if (event.pointerType === "mouse") return;
		from = place(event);
		over.setPointerCapture(event.pointerId);
	};
	const moved = (event: PointerEvent) => from !== null && select(place(event));
	const up = (event: PointerEvent) => {
		if (from === null) return;
		const to = place(event);
		const [low, high] = [Math.min(from, to), Math.max(from, to)];
		from = null;
		plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
		props.brush!(snap(props.facts, plot.posToVal(low, "x"), plot.posToVal(high, "x")));
	};
	const cancel = () => {
		from = null;
		plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
	};
	const listeners = { pointerdown: down, pointermove: moved, pointerup: up, pointercancel: cancel };
	const events = Object.entries(listeners) as ["pointerdown", (event: PointerEvent) => void][];
	for (const [name, listener] of events) over.addEventListener(name, listener);
	return () => events.forEach(([name, listener]) => over.removeEventListener(name, listener));
}

export function Plot(props: Props) {
	const { facts, what } = props;
	const ref = useRef<HTMLDivElement>(null);
	const size = useSize(ref);
	const width = props.width ?? size.width;
	const theme = useTheme();
	const plotted = useRef<uPlot | null>(null);

	// Before the page is drawn: for paper there is no later.
	useLayoutEffect(() => {
		if (!width) return;
		const data = what === "bytes" ? byteColumns(facts) : rateColumns(facts);
		const plot = new uPlot(options(props, width, data, (name) => colour(name, ref.current!)), data, ref.current!);
		const off = props.brush ? touch(plot, props) : () => {};
		plotted.current = plot;
		return () => {
			off();
			plot.destroy();
		};
	}, [facts, width, theme, props.height, props.epochs]);

	const names = facts.marks.flatMap((mark) => mark.name ?? []);
	const marks = names.length ? `; ${things(names.length, "named mark")}: ${names.slice(0, 10).join(", ")}` : "";
	const label = what === "bytes" ? "Live bytes and resident set over time" : "Allocations per second over time";
	return (
		<div
			class="plot"
			ref={ref}
			role="img"
			aria-label={`${label}, from 0 to ${duration(facts.endNs - facts.startNs)}${marks}`}
			style={{ height: `${props.height}px` }}
		/>
	);
}

export const epochLabel = (facts: Facts, i: number) => {
	const epoch = facts.epochs[i];
	return `${epochName(facts, epoch)}${epoch.name || epoch.number === 0 ? "" : " (automatic)"}`;
};

/** "warm to 2.0 s". */
export function epochSpan(facts: Facts, i: number): string {
	const next = facts.epochs[i + 1];
	const until = next ? epochName(facts, next) : facts.running ? "now" : "the end";
	return `${epochName(facts, facts.epochs[i])} to ${until}`;
}

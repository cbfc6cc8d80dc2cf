// SPDX-License-Identifier: MIT
// The course of the run, and what of each part of it still lives.
import { useMemo } from "preact/hooks";
import { type Facts } from "../facts";
import { bytes, percent, things } from "../format";
import { useSeep } from "../state";
import { main, numbers, shares, sizes, stacks, times, threads } from "./columns";
import { epochsWords } from "./filters";
import { announce, useNarrow } from "./hooks";
import { ContextDetail, stackText } from "./parts";
import { epochLabel, Plot } from "./plot";
import { type Column, Table } from "./table";

/** By place in facts.epochs: live bytes and blocks that were allocated then. */
export function useEpochSums(facts: Facts): { bytes: number[]; blocks: number[] } {
	const { model, state } = useSeep();
	const { keep } = model.weigh({ ...state, measure: "live", epochs: null });

	return useMemo(() => {
		const place = new Map(facts.epochs.map((epoch, i) => [epoch.number, i]));
		const sums = { bytes: facts.epochs.map(() => 0), blocks: facts.epochs.map(() => 0) };
		for (let i = 0; i < model.contexts.count; i++) {
			if (keep && !keep[i]) continue;
			for (const { epoch, bytes, blocks } of model.contexts.epochs(i)) {
				const at = place.get(epoch);
				if (at === undefined) continue;
				sums.bytes[at] += bytes;
				sums.blocks[at] += blocks;
			}
		}
		return sums;
	}, [facts, keep]);
}

function Legend() {
	return (
		<p class="plot-keys muted">
			<span class="plot-key live" aria-hidden="true" /> live bytes <span class="plot-key rss" aria-hidden="true" /> resident set{" "}
			<span class="plot-key peak" aria-hidden="true" /> peak <span class="plot-key mark" aria-hidden="true" /> mark
		</p>
	);
}

export function Timeline({ facts }: { facts: Facts }) {
	const { model, state, set } = useSeep();
	const narrow = useNarrow();
	const sums = useEpochSums(facts);
	const one = facts.epochs.length < 2;
	const brush = (epochs: [number, number] | null) => {
		set({ epochs, measure: epochs ? "live" : state.measure });
		announce(epochs ? `allocated from ${epochsWords(facts, epochs)}` : "whole run");
	};

	if (facts.timeline.length < 2 && one)
		return (
			<p class="summary">
				This recording has no timeline: {facts.imported
					? "the profile was imported, and has none."
					: "the process ended before it was looked at twice, or nobody followed it."}
			</p>
		);
	return (
		<div class="timeline">
			<Brush facts={facts} brush={brush}>
				<Legend />
				<Plot facts={facts} height={narrow ? 170 : 210} what="bytes" epochs={state.epochs} brush={one ? undefined : brush} />
				<h2>Allocations per second</h2>
				<Plot facts={facts} height={narrow ? 80 : 92} what="rate" epochs={state.epochs} brush={one ? undefined : brush} />
			</Brush>
			{one && !facts.imported && (
				<p class="summary">
					The recording has one epoch only, so what still lives cannot be told apart by when it was allocated. Marks make
					epochs: <code>seep mark PID NAME</code>, or <code>seep_mark("NAME")</code> in the program.
				</p>
			)}
			<div class={one ? "" : "beside"}>
				{!one && <Epochs facts={facts} sums={sums} brush={brush} />}
				{model.knows("live_bytes") && <Survivors facts={facts} total={model.weigh({ ...state, measure: "live", epochs: null }).total} />}
			</div>
		</div>
	);
}

/** Arrow keys move the brush from epoch to epoch; with shift they stretch it. */
function Brush(props: { facts: Facts; brush: (epochs: [number, number] | null) => void; children: preact.ComponentChildren }) {
	const { state } = useSeep();
	const numbers = props.facts.epochs.map((epoch) => epoch.number);
	const last = numbers.length - 1;

	function key(event: KeyboardEvent): void {
		const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
		if (last < 1 || event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === "Escape") {
			if (!state.epochs) return;
			props.brush(null);
		} else if (step) {
			const from = state.epochs ? numbers.indexOf(state.epochs[0]) : step > 0 ? -1 : last + 1;
			const to = state.epochs ? numbers.indexOf(state.epochs[1]) : from;
			const clamp = (i: number) => Math.max(0, Math.min(last, i));
			const next = event.shiftKey && state.epochs
				? [from, Math.max(from, clamp(to + step))]
				: [clamp((step > 0 ? to : from) + step), clamp((step > 0 ? to : from) + step)];
			props.brush([numbers[next[0]], numbers[next[1]]]);
		} else return;
		event.preventDefault();
		event.stopPropagation();
	}

	if (last < 1) return <div class="plots">{props.children}</div>;
	return (
		<div
			class="plots brushable"
			role="group"
			tabIndex={0}
			aria-label="Timeline. Left and right choose an epoch, with shift several, Escape all."
			onKeyDown={key}
		>
			{props.children}
			<p class="hint muted controls">Drag over the timeline, or press ← and →, to see what was allocated then and still lives.</p>
		</div>
	);
}

function Epochs(props: { facts: Facts; sums: { bytes: number[]; blocks: number[] }; brush: (epochs: [number, number] | null) => void }) {
	const { facts, sums } = props;
	const { state } = useSeep();
	const rows = useMemo(() => facts.epochs.map((_, i) => i), [facts]);
	const total = sums.bytes.reduce((all, one) => all + one, 0);
	const columns = useMemo((): Column[] => [
		{ key: "name", title: "Epoch", width: "minmax(120px,1fr)", value: (i) => i, cell: (i) => <b>{epochLabel(facts, i)}</b> },
		times("from", "From", (i) => facts.epochs[i].fromNs - facts.startNs, { width: "76px" }),
		times("length", "Length", (i) => facts.epochs[i].toNs - facts.epochs[i].fromNs, { wide: false, width: "76px" }),
		main(sizes("bytes", "Still lives", (i) => sums.bytes[i], { hint: "Live bytes that were allocated then" })),
		shares((i) => sums.bytes[i], total, { width: "72px" }),
	], [facts, sums]);
	const picked = (i: number) =>
		state.epochs !== null && facts.epochs[i].number >= state.epochs[0] && facts.epochs[i].number <= state.epochs[1];

	function pick(i: number, extend: boolean): void {
		const { number } = facts.epochs[i];
		if (!extend && state.epochs?.[0] === number && state.epochs[1] === number) props.brush(null);
		else if (extend && state.epochs) props.brush([Math.min(number, state.epochs[0]), Math.max(number, state.epochs[1])]);
		else props.brush([number, number]);
	}

	return (
		<section>
			<h2>Epochs</h2>
			<Table label="Epochs" columns={columns} rows={rows} sort="name" most={10} onPick={pick} picked={picked} empty="" />
		</section>
	);
}

function Survivors({ facts, total }: { facts: Facts; total: number }) {
	const { model, state } = useSeep();
	const weights = model.weigh({ ...state, measure: "live" });
	const rows = useMemo(
		() => Uint32Array.from({ length: model.contexts.count }, (_, i) => i).filter((i) => weights.value[i] !== 0),
		[weights],
	);
	const columns = useMemo((): Column[] => [
		stacks(model, (i) => i),
		main(sizes("bytes", "Still lives", (i) => weights.value[i], { width: "104px" })),
		shares((i) => weights.value[i], weights.total),
		numbers("blocks", "Blocks", (i) => weights.blocks[i], { wide: false }),
		...threads(model, (i) => i),
	], [model, weights]);

	return (
		<section class="grow">
			<h2 aria-live="polite">
				{state.epochs ? `Allocated from ${epochsWords(facts, state.epochs)}, and still live` : "Still live, of the whole run"}:{" "}
				{bytes(weights.total)} in {things(weights.blockTotal, "block")}
				{state.epochs ? `, ${percent(weights.total, total)} of all that lives` : ""}
			</h2>
			<Table
				label="What still lives"
				columns={columns}
				rows={rows}
				sort="bytes"
				most={10}
				detail={(i) => <ContextDetail i={i} />}
				copy={(i) => stackText(model, i)}
				empty="Nothing of it is live any more."
			/>
		</section>
	);
}

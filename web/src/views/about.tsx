// SPDX-License-Identifier: MIT
// What the document has beside memory: the recording itself, what was not seen, processes.
// Views that have nothing to show are not offered.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Facts, said, saidOf } from "../facts";
import { basename, bytes, count, digits, duration, moment, things, visible } from "../format";
import { array, figure, object } from "../model/read";
import { useSeep } from "../state";
import { counts, main, named, numbers, sizes, times } from "./columns";
import { Figures, Unknown } from "./parts";
import { type Column, Table } from "./table";

const SIGNALS = ["", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM"].map(
	(name) => name && `SIG${name}`,
);

export function endedWords(facts: Facts): string {
	const process = object(facts.doc.process);
	const status = object(process.status);
	const core = process.core_dumped === true ? ", core dumped" : "";

	switch (process.ended) {
		case "exit":
			return status.code === undefined ? "exited" : `exited with status ${figure(status.code)}`;
		case "signal":
			return `killed by ${SIGNALS[figure(status.signal)] || `signal ${figure(status.signal)}`}${core}`;
		case "exec":
			return "became another program";
		case "killed":
			return "disappeared; its status is not known";
		case "detached":
			return "detached; it went on";
		case "running":
			return "still running";
		default:
			return "how it ended is not known";
	}
}

/** How many there are of each size, as bars. */
export function HistogramTable(props: { upto: string; what: string; rows: [upto: string, number: number][] }) {
	const most = Math.max(1, ...props.rows.map(([, number]) => number));

	return (
		<table class="plain histogram">
			<thead><tr><th class="num">{props.upto}</th><th class="num">{props.what}</th><th class="hidden-text">Share</th></tr></thead>
			<tbody>
				{props.rows.slice(0, 64).map(([upto, number]) => (
					<tr key={upto}>
						<td class="num">{upto}</td>
						<td class="num" title={digits(number)}>{count(number)}</td>
						<td class="wide"><span class="solid" style={{ width: `${(100 * number) / most}%` }} /></td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

function Histogram({ facts }: { facts: Facts }) {
	const rows = array(object(facts.doc.totals).size_histogram)
		.map(object)
		.map((row): [string, number] => [figure(row.upto_bytes) > 2 ** 62 ? "more" : bytes(figure(row.upto_bytes)), figure(row.allocs)]);

	if (!rows.length) return null;
	return (
		<section class="card">
			<h2>Sizes of requests</h2>
			<HistogramTable upto="Up to" what="Allocations" rows={rows} />
		</section>
	);
}

function Modules() {
	const { model } = useSeep();
	const modules = array(object(model.doc).modules).map(object);

	if (!modules.length) return null;
	return (
		<details class="card">
			<summary>{things(modules.length, "module")}</summary>
			<ul class="modules">
				{modules.slice(0, 1000).map((module, i) => (
					<li key={i}>
						<span class="break">{said(module.path) ?? "not known"}</span> <code class="muted break">{said(module.build_id)}</code>
					</li>
				))}
			</ul>
		</details>
	);
}

/** What was not seen, in a list; the text names the side in a diff. */
export function UnseenList({ facts }: { facts: Facts }) {
	const { model } = useSeep();

	return (
		<section class="card">
			<h2>Not seen</h2>
			{facts.unseen.length + model.damage.length === 0 && <p class="muted">Nothing is known to be missing from these figures.</p>}
			<ul class="notes-list">
				{model.damage.map((text) => <li key={text} class="warn">This file is damaged: {text}.</li>)}
				{facts.unseen.map((one, i) => (
					<li key={i}>
						{one.side && <b>{one.side}: </b>}
						{one.detail} <code class="muted">{one.code}</code>
					</li>
				))}
			</ul>
		</section>
	);
}

function Text({ lines }: { lines: string[] }) {
	if (!lines.length) return null;
	return <pre class="text">{lines.join("\n")}</pre>;
}

export function About({ facts }: { facts: Facts }) {
	const { model } = useSeep();
	const process = object(facts.doc.process);
	const totals = object(facts.doc.totals);
	const seep = object(facts.doc.seep);
	const view = object(model.view);
	const forked = object(facts.doc.forked);
	const argv = array(process.argv);
	const f = (key: string) => figure(totals[key]);
	const row = (name: string, value: ComponentChildren) => [name, value] as [string, ComponentChildren];
	const path = (value: unknown) => (said(value) === null ? <Unknown /> : <span class="break">{said(value)}</span>);
	const started = figure(process.start_realtime_ns);
	const attached = process.origin === "attach";

	return (
		<div class="about">
			<UnseenList facts={facts} />
			<section class="card">
				<h2>The recording</h2>
				<Text lines={[...saidOf(view.head), ...saidOf(view.foot)]} />
			</section>
			{!facts.diff && (
				<section class="card">
					<h2>The process</h2>
					<Figures
						of={[
							row("Program", path(process.exe)),
							row("Command", process.argv != null
								? <code class="break">{argv.map((one) => visible(String(one))).join(" ")}</code>
								: facts.imported ? <Unknown /> : "withheld"),
							row("Folder", path(process.cwd)),
							row("Process", process.pid === null ? <Unknown /> : `${figure(process.pid)}, of parent ${figure(process.ppid)}, user ${figure(process.uid)}`),
							row(attached ? "Attached to" : "Started", started ? moment(started) : <Unknown />),
							...(attached ? [row("Ran before", process.ran_before_ns == null ? <Unknown /> : duration(figure(process.ran_before_ns)))] : []),
							row(attached ? "Recorded for" : "Ran for", facts.ranNs === null ? <Unknown /> : duration(facts.ranNs)),
							row("Ended", facts.imported ? <Unknown /> : endedWords(facts)),
							row("Allocator", path(process.allocator)),
							...(facts.imported ? [] : [row("Mode", said(process.mode) ?? "")]),
							...(said(process.options) ? [row("Options", <code class="break">{said(process.options)}</code>)] : []),
							...(facts.imported ? [] : [
								row("Frees of unknown blocks", digits(f("untracked_frees"))),
								row("Missed frees", digits(f("missed_frees"))),
								row("Operations in doubt", digits(f("in_doubt"))),
								row("Stack walks", `${digits(f("walks"))}, ${digits(f("walks_truncated"))} cut short`),
							]),
							...(figure(forked.processes) ? [row("Small forks", `${digits(figure(forked.processes))}, ${bytes(figure(forked.live_bytes))} live`)] : []),
							...(facts.imported ? [] : [row("seep's own memory", bytes(f("own_bytes")))]),
							row("Written by", `seep ${said(seep.version) ?? "?"}, schema ${figure(seep.schema)}`),
						]}
					/>
				</section>
			)}
			<Histogram facts={facts} />
			<Modules />
		</div>
	);
}

export function Processes({ facts }: { facts: Facts }) {
	const run = object(facts.doc.run);
	const others = useMemo(() => array(run.others).map(object), [facts]);
	const rows = useMemo(() => others.map((_, i) => i), [others]);
	const columns = useMemo((): Column[] => {
		const f = (key: string) => (i: number) => figure(others[i][key]);
		return [
			named("Program", (i) => basename(said(others[i].exe) ?? "not known"), (i) => said(others[i].recording) ?? ""),
			{ ...numbers("pid", "Process", f("pid"), { wide: false }), cell: f("pid") },
			{ ...numbers("ppid", "Parent", f("ppid")), cell: f("ppid") },
			main(sizes("live_bytes", "Live at exit", f("live_bytes"))),
			sizes("peak_bytes", "Peak", f("peak_bytes")),
			sizes("alloc_bytes", "Allocated", f("alloc_bytes")),
			counts("allocs", "Allocs", f("allocs")),
			times("start", "Started", (i) => Math.max(0, f("start_ns")(i) - facts.startNs), { hint: "After the start of this process" }),
		];
	}, [others]);

	return (
		<>
			<p class="summary">
				<b>{things(figure(run.processes), "process").replace("processs", "processes")}</b> in this run:{" "}
				<b>{bytes(figure(run.live_bytes))}</b> live at their ends, peaks of {bytes(figure(run.peaks_bytes))} together, at most{" "}
				{bytes(figure(run.peaks_at_once_bytes))} at one time. The others have recordings of their own, beside this one.
			</p>
			<Table label="Other processes of the run" columns={columns} rows={rows} sort="live_bytes" empty="No other process has a recording." />
		</>
	);
}

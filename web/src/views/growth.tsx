// SPDX-License-Identifier: MIT
// What grew without coming back, or stays for far longer than its like.
import { useMemo } from "preact/hooks";
import { after, type Facts, type GrowthRow, said } from "../facts";
import { bytes, digits, duration, percent, things } from "../format";
import { object } from "../model/read";
import { useSeep } from "../state";
import { main, numbers, sizes, stacks, times, words, threads } from "./columns";
import { searched } from "./filters";
import { ContextDetail, stackText, Verdict } from "./parts";
import { type Column, Table } from "./table";

const perHour = (row: GrowthRow) =>
	row.verdict === "GROWING" && row.untilNs > row.sinceNs
		? Math.floor((row.bytes * 3600e9) / (row.untilNs - row.sinceNs))
		: 0;

/** Per minute, unless that is less than a KB or more than 60 MB; as the terminal says it. */
export function rate(hourly: number): string {
	const minute = Math.floor(hourly / 60);
	if (minute >= 60 * 1024 ** 2) return `+${bytes(Math.floor(hourly / 3600))}/s`;
	return minute < 1024 ? `+${bytes(hourly)}/h` : `+${bytes(minute)}/min`;
}

export const rateOf = (...rows: GrowthRow[]) => rate(rows.reduce((all, row) => all + perHour(row), 0));

export function growthWords(facts: Facts): string {
	const growing = facts.growth.filter((row) => row.verdict === "GROWING");
	const stale = facts.growth.filter((row) => row.verdict === "STALE");
	const sum = growing.reduce((all, row) => all + row.bytes, 0);
	const speed = growing.reduce((all, row) => all + perHour(row), 0);
	const parts = [];

	if (growing.length) parts.push(`${things(growing.length, "call stack")} grew by ${bytes(sum)} at ${rate(speed)}`);
	if (stale.length)
		parts.push(`${things(stale.length, "call stack")} with ${bytes(stale.reduce((all, row) => all + row.bytes, 0))} that stay for far longer than their like`);
	return parts.join("; ");
}

export const whenWords = (facts: Facts, row: GrowthRow) =>
	row.verdict === "STALE"
		? `older than ${duration(row.untilNs - row.sinceNs)}`
		: `since ${after(facts, row.sinceNs)} after the start`;

/** That nothing grew, or why nobody knows, as the terminal says it. */
export const noGrowth = (facts: Facts) =>
	said(object(facts.model.view).no_growth) ?? (facts.judged ? "No call stack is GROWING" : "Growth was not judged");

export function Growth({ facts }: { facts: Facts }) {
	const { model, state } = useSeep();
	const keep = useMemo(() => searched(model, state.search), [model, state.search]);
	const weighed = model.weigh({ ...state, measure: state.epochs ? "live" : "allocated" });
	const rows = useMemo(
		() => facts.growth.map((_, i) => i).filter((i) => {
			const { context } = facts.growth[i];
			return (!keep || keep[context]) && weighed.value[context] !== 0;
		}),
		[facts, keep, weighed],
	);
	const columns = useMemo((): Column[] => {
		const of = (i: number) => facts.growth[i];
		return [
			stacks(model, (i) => of(i).context),
			{ key: "verdict", title: "Verdict", wide: true, width: "104px", value: (i) => of(i).verdict, cell: (i) => <Verdict word={of(i).verdict} /> },
			main(sizes("bytes", "Grew by", (i) => of(i).bytes, { hint: "By how much it grew, or how much is stale" })),
			{
				...numbers("rate", "Rate", (i) => of(i).rate, { wide: false, width: "120px", exact: (i) => `${of(i).rate} bytes per second` }),
				cell: (i) => (of(i).verdict === "GROWING" ? rateOf(of(i)) : "–"),
			},
			times("since", "Since", (i) => Math.max(0, of(i).sinceNs - facts.startNs), { hint: "After the start of the process" }),
			times("until", "Seen until", (i) => Math.max(0, of(i).untilNs - facts.startNs), { hint: "After the start of the process" }),
			{ ...numbers("freed", "Ever freed", (i) => of(i).freedShare, { width: "84px" }), cell: (i) => percent(of(i).freedShare, 1) },
			...threads(model, (i) => of(i).context),
			words("confidence", "Confidence", (i) => of(i).confidence, { value: (i) => ["low", "medium", "high"].indexOf(of(i).confidence) }),
		];
	}, [facts, model]);

	return (
		<>
			<p class={`summary answer ${facts.growth.length ? "leak" : facts.judged ? "none" : "unknown"}`} role="status">
				<b>{facts.growth.length ? growthWords(facts) : noGrowth(facts)}</b>
			</p>
			{(facts.growth.length > 0 || facts.judged) && <Table
				label="What grew"
				columns={columns}
				rows={rows}
				sort="bytes"
				open={rows.find((i) => facts.growth[i].context === state.selected)}
				detail={(i) => <GrowthDetail row={facts.growth[i]} />}
				copy={(i) => stackText(model, facts.growth[i].context)}
				empty={facts.growth.length ? "Nothing matches. Remove a filter or the search." : "Nothing to list."}
			/>}
		</>
	);
}

function GrowthDetail({ row }: { row: GrowthRow }) {
	return (
		<>
			<p class="lead">
				{row.returned && <b>It was given back: half of it or more was freed after that. </b>}
				{row.staleBlocks > 0 && `${digits(row.staleBlocks)} blocks are stale. `}
			</p>
			<ContextDetail i={row.context} />
		</>
	);
}

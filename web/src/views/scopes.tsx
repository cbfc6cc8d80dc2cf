// SPDX-License-Identifier: MIT
// What was done under the tags that the program gave to its work.
import { useMemo } from "preact/hooks";
import { duration, things } from "../format";
import { array, figure, object } from "../model/read";
import { useSeep } from "../state";
import { HistogramTable } from "./about";
import { counts, main, sizes, times } from "./columns";
import { type Column, Table } from "./table";

export function Scopes() {
	const { model, set } = useSeep();
	const { scopes } = model;
	const order = useMemo(() => scopes.ordered(), [scopes]);
	const columns = useMemo((): Column[] => {
		const place = new Int32Array(order.length);
		for (const [at, i] of order.entries()) place[i] = at;
		const of = (key: string) => (i: number) => figure(scopes.rows[i][key]);
		const all = (key: string) => (i: number) => figure(object(scopes.rows[i].inclusive)[key]);
		const left = (i: number) => of("entries")(i) - of("active")(i);
		return [
			{
				key: "name", title: "Scope", width: "minmax(180px,1fr)", value: (i) => place[i], exact: (i) => scopes.path(i),
				cell: (i) => <span class="site" style={{ paddingLeft: `${18 * Math.min(scopes.depth[i], 12)}px` }}><span class="name"><b>{scopes.tags[scopes.tagOf[i]]}</b></span></span>,
			},
			main(sizes("held", "Held", all("held_bytes"), { hint: "Live bytes that were allocated in it, and in those below it" })),
			sizes("own", "Own", of("held_bytes"), { hint: "Of these, what was allocated while it was the innermost" }),
			sizes("allocated", "Allocated", all("allocated_bytes"), { hint: "Bytes allocated in all, with those below it" }),
			counts("entries", "Entries", of("entries")),
			counts("active", "Active", of("active"), { hint: "Entries that were not left yet" }),
			times("mean", "Mean time", (i) => Math.round(of("duration_ns")(i) / Math.max(1, left(i))), { wide: false }),
		];
	}, [scopes, order]);

	return (
		<>
			<p class="summary"><b>{things(order.length, "scope")}</b> of {things(scopes.tags.length, "tag")}, each below the one around it</p>
			<Table
				label="Scopes" columns={columns} rows={order} sort="name" empty="No scope was opened."
				detail={(i) => (
					<div class="detail">
						<div>
							<p class="code break">{scopes.path(i)}</p>
							<p class="row-buttons">
								<button onClick={() => set({ scope: scopes.tags[scopes.tagOf[i]], tab: "stacks" })}>Call stacks under this tag</button>
								<button onClick={() => set({ scope: scopes.tags[scopes.tagOf[i]], scoped: true, zoom: [], function: null, tab: "flame" })}>In the flame graph</button>
							</p>
						</div>
						<HistogramTable upto="Up to" what="Entries" rows={bars(i)} />
					</div>
				)}
			/>
		</>
	);

	/** From the first time that any entry took. */
	function bars(i: number): [upto: string, exits: number][] {
		const list = array(scopes.rows[i].duration_histogram).map(object);
		const from = list.findIndex((bar) => figure(bar.exits) > 0);
		return list.slice(from < 0 ? list.length : from)
			.map((bar) => [figure(bar.upto_ns) > 2 ** 62 ? "more" : duration(figure(bar.upto_ns)), figure(bar.exits)]);
	}
}

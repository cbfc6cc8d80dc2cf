// SPDX-License-Identifier: MIT
// The verdicts of the leak check: what is lost, why it is said, and what goes with it.
import { useMemo, useState } from "preact/hooks";
import { type Facts, LOST, type LeakRow, said, saidOf, sinceWords } from "../facts";
import { bytes, digits, duration, exactBytes, things } from "../format";
import { array, figure, object } from "../model/read";
import { useSeep } from "../state";
import { main, numbers, sizes, words, threads } from "./columns";
import { searched } from "./filters";
import { Bytes, nameOf, Site, Stack, stackText, Verdict } from "./parts";
import { type Column, Table } from "./table";

export const MEANING: Record<string, string> = {
	LOST: "No pointer leads to it: the program can neither use nor free it.",
	"LOST-CYCLE": "Only blocks that it leads to itself point to it.",
	"LOST-WITH": "Only lost blocks point to it.",
	"MAYBE-LOST": "Only a doubtful pointer leads to it.",
	"FORK-ORPHAN": "Lost, but a parent process allocated it.",
	RUNTIME: "libc, libstdc++ or the loader keeps it to its end.",
	SUPPRESSED: "A suppression matches it, or what leads to it.",
	IGNORED: "The program said that it is no leak.",
	REACHABLE: "A pointer leads to it.",
	unknown: "A newer seep recorded a verdict that this one does not know.",
};

const RULES: Record<string, string> = {
	start: "the pointer is to its start",
	"new-array": "the pointer is behind the count that new T[n] puts at the start",
	"zero-array": "the pointer is the result of new T[0]: the end of a block that holds the count alone",
	"second-base": "the pointer is to another base of a C++ object",
	string: "the pointer is to the text of a reference-counted std::string",
	length: "the pointer is behind a word that holds the length of the rest",
	"hash-table": "the pointer is behind the buckets of a hash table of Rust's",
	"stack-pointer": "the stack pointer of a thread whose stack the block is",
	"thread-vector": "a pointer of a thread whose vector of thread-local storage the block is",
	interior: "the pointer is into the middle of the block",
	"low-tag": "the pointer is to its start, with low bits set",
	unread: "none was found, but not all that may hold one could be read",
	"high-tag": "the pointer is to its start but for the uppermost 16 bits",
	unaligned: "the pointer is to its start, at an address that is no multiple of 8",
};

const ORDER = ["LOST", "LOST-CYCLE", "MAYBE-LOST", "FORK-ORPHAN", "LOST-WITH", "SUPPRESSED", "IGNORED", "RUNTIME", "REACHABLE", "unknown"];

/** The answer of the leak check as a sentence, whoever gave it; where none was made it does not lead. */
export function answerOf(facts: Facts): { sign: "leak" | "none" | "unknown"; text: string } {
	const answer = facts.lead[facts.scanned ? 0 : 1];
	const whyNot = said(object(facts.doc.scan).why_not);

	if (facts.roots.length)
		return { sign: "leak", text: answer ?? `${things(facts.roots.length, "leak")}: ${bytes(sum(facts.roots, withAll))} lost` };
	if (!facts.scanned)
		return { sign: "unknown", text: answer ?? `Not checked for leaks${whyNot ? `: ${whyNot}` : ": no leak scan was made."}` };
	return { sign: facts.doubtful.length ? "unknown" : "none", text: answer ?? "Nothing is lost" };
}

export const withAll = (leak: LeakRow) => leak.bytes + leak.withBytes;
const sum = (leaks: LeakRow[], of: (leak: LeakRow) => number) => leaks.reduce((all, leak) => all + of(leak), 0);

const hex = (value: unknown) => `0x${figure(value).toString(16)}`;

function Chain({ leak }: { leak: LeakRow }) {
	if (!leak.chain.length) return null;
	return (
		<>
			<h3>What points to it, from the block outwards</h3>
			<ol class="chain">
				{leak.chain.slice(0, 100).map((link, i) => (
					<li key={i}>
						<span class="muted">{i ? "that from" : "pointed to from"}</span> {said(link.from) ?? "?"}{" "}
						<b class="break">{said(link.name) ?? ""}</b>
						{figure(link.offset) > 0 && <code> + {hex(link.offset)}</code>} <code class="muted">({hex(link.address)})</code>
					</li>
				))}
			</ol>
		</>
	);
}

function With({ leak, facts }: { leak: LeakRow; facts: Facts }) {
	const members = facts.leaks.filter((one) => one.root === leak.index).sort((a, b) => b.bytes - a.bytes);

	if (!members.length) return null;
	return (
		<>
			<h3>{leak.verdict === "MAYBE-LOST" ? "Reached through" : "Lost with"} {leak.blocks === 1 ? "it" : "them"}</h3>
			<ul class="with">
				{members.slice(0, 20).map((one) => (
					<li key={one.index}>
						<span class="num">
							<b><Bytes of={one.bytes} /></b> in {digits(one.blocks)}
						</span>
						<Site frames={one.frames} callers={1} />
					</li>
				))}
				{members.length > 20 && (
					<li class="muted">
						and {bytes(sum(members.slice(20), (one) => one.bytes))} from {things(members.length - 20, "more call stack")}
					</li>
				)}
			</ul>
		</>
	);
}

/** The first bytes as hexadecimal digits and as text, as hexdump shows them. */
function dump(text: string): string {
	const pairs = text.slice(0, 512).match(/../g) ?? [];
	const lines = [];
	for (let at = 0; at < pairs.length; at += 16) {
		const some = pairs.slice(at, at + 16);
		const shown = some.map((pair) => {
			const code = Number.parseInt(pair, 16);
			return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : ".";
		});
		lines.push(`+${at.toString().padEnd(4)} ${some.join(" ").padEnd(47)}  ${shown.join("")}`);
	}
	return lines.join("\n");
}

function Blocks({ leak }: { leak: LeakRow }) {
	const list = leak.blockList;

	if (!list.length) return null;
	return (
		<details>
			<summary>
				{list.length < leak.blocks ? `The first ${digits(list.length)} of ${digits(leak.blocks)} blocks` : things(leak.blocks, "block")}
			</summary>
			<ul class={list.some((block) => block.bytes_hex) ? "blocks dumps" : "blocks"}>
				{list.slice(0, 1000).map((block, i) => (
					<li key={i}>
						<code>{hex(block.address)}</code> <span title={exactBytes(figure(block.size))}>{bytes(figure(block.size))}</span>
						{typeof block.bytes_hex === "string" && <pre class="code">{dump(block.bytes_hex)}</pre>}
					</li>
				))}
			</ul>
		</details>
	);
}

export function LeakDetail({ leak, facts }: { leak: LeakRow; facts: Facts }) {
	const since = sinceWords(facts, leak.context);
	const root = leak.root >= 0 ? facts.leaks[leak.root] : null;

	return (
		<div class="detail">
			<Stack context={leak.context} frames={leak.frames} />
			<div class="why">
				<p>{MEANING[leak.verdict] ?? MEANING.unknown}</p>
				<p>
					<b><Bytes of={leak.bytes} /></b> in {things(leak.blocks, "block")}
					{leak.withBytes > 0 && (
						<>
							, and <b><Bytes of={leak.withBytes} /></b> in {things(leak.withBlocks, "block")} with {leak.blocks === 1 ? "it" : "them"}
						</>
					)}
					{since ? `; this call stack's live blocks were ${since}` : ""}.
				</p>
				{leak.flags.includes("startup") && <p>Allocated before main.</p>}
				{leak.flags.includes("reported") && <p>The program marked it as reported before.</p>}
				{leak.evidence && <p>Evidence: {leak.evidence}</p>}
				{leak.rule && <p>Rule {leak.rule}{RULES[leak.rule] ? `: ${RULES[leak.rule]}` : ""}.</p>}
				{leak.suppressedBy && <p>Suppressed by <code class="break">{leak.suppressedBy}</code></p>}
				{root && <p>{leak.verdict === "MAYBE-LOST" ? "Reached through" : "Lost with"} <Site frames={root.frames} callers={1} /></p>}
				<Chain leak={leak} />
				<With leak={leak} facts={facts} />
				<Blocks leak={leak} />
			</div>
		</div>
	);
}

/** Verdicts that are there, with what they come to: buttons that choose. */
function Verdicts(props: { facts: Facts; chosen: string; choose: (verdict: string) => void }) {
	const { facts, chosen, choose } = props;
	const sums = new Map<string, { leaks: number; bytes: number }>();

	for (const leak of facts.leaks) {
		const one = sums.get(leak.verdict) ?? { leaks: 0, bytes: 0 };
		one.leaks++;
		one.bytes += leak.bytes;
		sums.set(leak.verdict, one);
	}
	const words = [...sums.keys()].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
	return (
		<div class="choices controls" role="group" aria-label="Verdicts">
			<button aria-pressed={chosen === "leaks"} onClick={() => choose("leaks")}>
				Leaks <span class="badge">{digits(facts.roots.length)}</span>
			</button>
			{words.map((word) => (
				<button key={word} aria-pressed={chosen === word} title={MEANING[word]} onClick={() => choose(word)}>
					<Verdict word={word} /> <span class="badge">{digits(sums.get(word)!.leaks)} · {bytes(sums.get(word)!.bytes)}</span>
				</button>
			))}
			<button aria-pressed={chosen === ""} onClick={() => choose("")}>Everything</button>
		</div>
	);
}

function ScanNotes({ facts }: { facts: Facts }) {
	const scan = object(facts.doc.scan);
	const skipped = array(scan.skipped).map(object);
	const used = array(scan.suppressions).map(object);
	const caveats = saidOf(scan.caveats);

	if (facts.doc.scan == null || scan.method == null) return null;
	return (
		<details class="notes" open={caveats.length > 0}>
			<summary>
				How it was checked: {things(figure(scan.blocks), "live block")}, {bytes(figure(scan.marked_bytes))} looked through in{" "}
				{duration(figure(scan.mark_ns))}; the process stood still for {duration(figure(scan.pause_ns))} ({said(scan.method)})
			</summary>
			<ul>
				{caveats.map((text) => <li key={text} class="warn">{text}</li>)}
				{skipped.slice(0, 50).map((one, i) => (
					<li key={i}>Not looked at: <code>{hex(one.from)}–{hex(one.to)}</code> {said(one.reason)}</li>
				))}
				{used.map((one, i) => (
					<li key={i}>
						Suppression <code class="break">{said(one.text)}</code> ({said(one.file) ?? "default"}):{" "}
						{figure(one.leaks) ? `${things(figure(one.blocks), "block")}, ${bytes(figure(one.bytes))}` : "nothing matched"}
					</li>
				))}
			</ul>
		</details>
	);
}

export function Leaks({ facts }: { facts: Facts }) {
	const { model, state } = useSeep();
	const [chosen, choose] = useState(facts.roots.length || !facts.leaks.length ? "leaks" : facts.doubtful.length ? "MAYBE-LOST" : "");
	const answer = answerOf(facts);
	const advice = said(object(model.view).advice);
	const keep = useMemo(() => searched(model, state.search), [model, state.search]);
	const weighed = model.weigh({ ...state, measure: "live" });
	const filtered = state.thread !== null || state.scope !== null || state.module !== null || state.epochs !== null;
	const rows = useMemo(
		() => facts.leaks
			.filter((leak) =>
				(chosen === "leaks" ? leak.root < 0 && LOST.includes(leak.verdict)
					: !chosen || (leak.verdict === chosen && (chosen !== "MAYBE-LOST" || leak.root < 0))) &&
				(!keep || (leak.context >= 0 && keep[leak.context])) &&
				(!filtered || (leak.context >= 0 && weighed.value[leak.context] !== 0)))
			.map((leak) => leak.index),
		[facts, chosen, keep, filtered, weighed],
	);
	const columns = useMemo((): Column[] => {
		const of = (i: number) => facts.leaks[i];
		return [
			{ key: "name", title: "Where it was allocated", width: "minmax(220px,1fr)",
				value: (i) => (of(i).frames.length ? nameOf(model, of(i).frames[0]) : ""), cell: (i) => <Site frames={of(i).frames} /> },
			{ key: "verdict", title: "Verdict", width: "128px", value: (i) => ORDER.indexOf(of(i).verdict),
				cell: (i) => <Verdict word={of(i).verdict} />, exact: (i) => MEANING[of(i).verdict] ?? "" },
			main(sizes("all", "Bytes in all", (i) => withAll(of(i)), { hint: "Its own bytes and those that go with it", width: "104px" })),
			sizes("bytes", "Own", (i) => of(i).bytes),
			numbers("blocks", "Blocks", (i) => of(i).blocks),
			sizes("with", "With it", (i) => of(i).withBytes, { width: "100px" }),
			...threads(model, (i) => of(i).context),
			words("rule", "Rule", (i) => of(i).rule ?? "", { exact: (i) => RULES[of(i).rule ?? ""] ?? "" }),
		];
	}, [facts, model]);

	return (
		<>
			<p class={`summary answer ${answer.sign}`} role="status">
				<span aria-hidden="true">{answer.sign === "leak" ? "▲" : answer.sign === "none" ? "✓" : "?"}</span> <b>{answer.text}</b>
			</p>
			{advice && <p class="summary muted">{advice}</p>}
			{facts.leaks.length > 0 && <Verdicts facts={facts} chosen={chosen} choose={choose} />}
			<ScanNotes facts={facts} />
			{(facts.leaks.length > 0 || facts.scanned) && <Table
				label="Verdicts of the leak check"
				columns={columns}
				rows={rows}
				sort="all"
				open={rows.find((i) => facts.leaks[i].context === state.selected)}
				detail={(i) => <LeakDetail leak={facts.leaks[i]} facts={facts} />}
				copy={(i) => stackText(model, facts.leaks[i].context, facts.leaks[i].frames)}
				empty={facts.leaks.length ? "No verdict matches. Choose another verdict, or remove a filter or the search." : "There are no verdicts."}
			/>}
		</>
	);
}

// SPDX-License-Identifier: MIT
// What the page is given: docs/json.md describes `document`, the C writer's header `view`. The types
// say what a sound document has. A file can hold anything, so members are read through the checks of
// model/read.ts, or tested where they are used.

/** A number, or decimal digits where they would not fit into one. */
export type U64 = number | string;

export interface View {
	kind: "report" | "diff";
	/** As the user typed it; of a diff before and after. */
	file: string | [string, string];
	no_growth: string;
	/** What filling new memory would tell of leaks. */
	advice: string | null;
	head: string[];
	foot: string[];
	/** By index of a context that would read like another: its function, with what tells it apart. */
	apart: Record<string, string>;
	/** Two numbers per context: the part [first, end) of its frames that is worth reading. */
	trim: number[];
	/** The same per finding, of where it was made. */
	finding_trim?: number[];
	/** The same per change of the leaks of a diff. */
	leak_trim?: number[];
	/** By frame the number of its function. */
	function: number[];
	/** By function its brief name. */
	functions: string[];
	/** By frame a letter of `Origin`. */
	origin: string;
	/** By frame a digit: whether it is folded in the middle of a stack. */
	passes: string;
}

/**
 * o the program's own code, i an installed library, l the language's standard library, s the C
 * library or the loader, a allocates for its caller, p comes before main or a thread's function.
 */
export type Origin = "o" | "i" | "l" | "s" | "a" | "p";

export interface Module {
	path: string | null;
	build_id: string | null;
}

export interface Frame {
	function: string | null;
	file: string | null;
	line: number | null;
	module: number | null;
	offset: U64 | null;
	address: U64;
	exact: boolean;
	inlined: boolean;
}

/** The frames at the places from to to stand for calls that were repeated directly. */
export interface Fold {
	from: number;
	to: number;
	times: number;
	or_more: boolean;
}

export interface Growth {
	verdict: "GROWING" | "STALE" | null;
	confidence: "low" | "medium" | "high";
	bytes: U64;
	bytes_per_s: number;
	present_bytes_per_hour: U64;
	quiet_ns: U64 | null;
	freed_share: number;
	since_ns: U64;
	until_ns: U64;
	returned: boolean;
	stale_blocks: U64;
	freed_late: U64;
	evidence: string;
}

export interface EpochShare {
	epoch: number;
	blocks: U64;
	bytes: U64;
}

export interface Counts {
	allocs: U64;
	alloc_bytes: U64;
	frees: U64;
	freed_bytes: U64;
	live_blocks: U64;
	live_bytes: U64;
	peak_blocks: U64;
	peak_bytes: U64;
	temporary: U64;
}

export type ContextFlag = "cut" | "by-frame-pointer" | "no-stack" | "other" | "in-doubt" | "site";

export interface Context extends Counts {
	id: number;
	hash: string;
	kind: string;
	align_bytes?: U64;
	thread?: string;
	first_ns: U64;
	truncated?: true;
	flags?: ContextFlag[];
	estimate?: Partial<Counts>;
	epochs?: EpochShare[];
	growth?: Growth;
	frames: number[];
	folded?: Fold[];
}

export type Verdict =
	| "LOST"
	| "LOST-CYCLE"
	| "LOST-WITH"
	| "MAYBE-LOST"
	| "FORK-ORPHAN"
	| "RUNTIME"
	| "SUPPRESSED"
	| "IGNORED"
	| "REACHABLE"
	| "unknown";

export interface Link {
	from: string;
	name: string | null;
	address: U64;
	offset: U64;
}

export interface LeakBlock {
	address: U64;
	size: U64;
	bytes_hex: string | null;
}

export interface Leak {
	verdict: Verdict;
	flags: ("startup" | "reported")[];
	hash: string | null;
	/** The id of its context, which may not be in the document. */
	context: number | null;
	root: number | null;
	blocks: U64;
	bytes: U64;
	with_blocks: U64;
	with_bytes: U64;
	rule: string | null;
	evidence: string | null;
	suppressed_by: string | null;
	chain: Link[];
	block_list: LeakBlock[];
	frames: number[];
	folded?: Fold[];
}

/** What was done wrong with a block of the heap. */
export interface Finding {
	kind: string;
	/** What `kind` says in a sentence. */
	text: string;
	hash: string;
	count: U64;
	thread: string | null;
	at_ns: U64;
	suppressed_by: string | null;
	alloc_frames: number[] | null;
	free_frames: number[] | null;
	here_frames: number[] | null;
}

export interface Scan {
	method: "copy-on-write" | "stopped" | "waiting" | null;
	why_not: string | null;
	at_ns: U64;
	pause_ns: U64;
	mark_ns: U64;
	marked_bytes: U64;
	blocks: U64;
	skipped: { from: U64; to: U64; reason: string }[];
	caveats: string[];
	suppressions: { text: string; file: string | null; leaks: U64; blocks: U64; bytes: U64 }[];
}

export interface Mark {
	name: string | null;
	epoch: number;
	at_ns: U64;
	exact: boolean;
}

export interface Sample {
	at_ns: U64;
	live_bytes: U64;
	rss_bytes: U64;
	allocs: U64;
	frees: U64;
}

export interface Unseen {
	code: string;
	detail: string;
	side?: "before" | "after";
}

export type Ended = "exit" | "signal" | "exec" | "killed" | "detached" | "running" | "unknown";

export interface Process {
	/** These three are null in an imported profile. */
	pid: number | null;
	ppid: number | null;
	uid: number | null;
	exe: string | null;
	cwd: string | null;
	argv: string[] | null;
	allocator: string | null;
	options: string | null;
	mode: "all" | "off" | "unknown";
	origin: "start" | "fork" | "attach" | null;
	/** When seep was attached to it, it had run for so long. */
	ran_before_ns: U64 | null;
	start_ns: U64;
	start_realtime_ns: U64 | null;
	end_ns: U64 | null;
	ended: Ended;
	status: { code: number } | { signal: number } | null;
	core_dumped: boolean;
	peak_rss_bytes: U64 | null;
	growth_after_ns: U64 | null;
	children: number[];
}

/** Null is what an imported profile does not say. */
export interface Totals {
	allocs: U64 | null;
	alloc_bytes: U64 | null;
	frees: U64 | null;
	freed_bytes: U64 | null;
	live_blocks: U64 | null;
	live_bytes: U64 | null;
	usable_bytes: U64 | null;
	peak_bytes: U64 | null;
	peak_at_ns: U64 | null;
	peak_exact: boolean;
	peak_error_bytes: U64;
	temporary: U64 | null;
	temporary_bytes: U64 | null;
	threads: U64 | null;
	untracked_frees: U64;
	missed_frees: U64;
	inherited_frees: U64;
	inherited_freed_bytes: U64;
	dropped: U64;
	in_doubt: U64;
	abandoned: U64;
	unrecorded_children: U64;
	own_bytes: U64;
	walks: U64;
	walks_landed: U64;
	walks_truncated: U64;
	size_histogram: { upto_bytes: U64; allocs: U64 }[];
	verify: { walks: U64; landed: U64; truncated: U64; differences: U64 } | null;
}

export interface Forked {
	processes: U64;
	allocs: U64;
	alloc_bytes: U64;
	frees: U64;
	freed_bytes: U64;
	live_bytes: U64;
}

export interface OtherProcess {
	pid: number;
	ppid: number;
	exe: string | null;
	recording: string;
	start_ns: U64;
	end_ns: U64;
	allocs: U64;
	alloc_bytes: U64;
	frees: U64;
	freed_bytes: U64;
	live_bytes: U64;
	peak_bytes: U64;
}

export interface Run extends Forked {
	peaks_bytes: U64;
	peaks_at_once_bytes: U64;
	others: OtherProcess[];
}

export interface ReportDocument {
	seep: { version: string; schema: number };
	lead: { sentences: string[]; measure: string };
	process: Process;
	totals: Totals;
	forked: Forked;
	run: Run | null;
	modules: Module[];
	frames: Frame[];
	contexts: Context[];
	leaks: Leak[];
	findings: Finding[];
	scan: Scan | null;
	marks: Mark[];
	timeline: Sample[];
	unseen: Unseen[];
}

export type ChangeVerdict = "NEW" | "GROWN" | "SHRUNK" | "GONE" | "HELD";

/** Of what is held between marks only what lives is known. */
export type Side = Partial<Counts> & Pick<Counts, "live_blocks" | "live_bytes">;

export interface Change {
	verdict: ChangeVerdict;
	hash: string;
	kind: string;
	before: Side | null;
	after: Side | null;
	rounds?: { blocks: U64; bytes: U64 }[];
	block_list?: { address: U64; size: U64 }[];
	frames: number[];
	folded?: Fold[];
}

export interface DiffSide {
	name: string;
	pid: number | null;
	exe: string | null;
	start_realtime_ns: U64 | null;
	ended: Ended;
	not_scanned: string | null;
}

export type LeakChange = Pick<Change, "verdict" | "hash" | "kind" | "frames" | "folded"> & Record<"before" | "after", Side>;

export interface DiffDocument {
	seep: { version: string; schema: number };
	before: DiffSide | null;
	after: DiffSide;
	from: Mark | null;
	until: Mark | null;
	round_count: number;
	measure: "live" | "peak" | "allocs" | "temporary";
	totals: { before: Side | null; after: Side };
	modules: Module[];
	frames: Frame[];
	changes: Change[];
	leaks: { same: number; changes: LeakChange[]; left_out: number } | null;
	left_out: { changes: U64; partial: U64; partial_bytes: U64; undated_blocks: U64 };
	unseen: Unseen[];
}

export type SeepDocument = ReportDocument | DiffDocument;

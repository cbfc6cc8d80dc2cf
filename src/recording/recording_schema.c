/* SPDX-License-Identifier: MIT */
/* Comments in the SQL stay in the file: ".schema" in any client shows them. */
#include "recording/recording_schema.h"

const char seep_recording_tables_sql[] =
	"CREATE TABLE process (\n"
	"	id INTEGER PRIMARY KEY CHECK (id = 1),\n"
	"	pid INTEGER NOT NULL,\n"
	"	ppid INTEGER NOT NULL,\n"
	"	uid INTEGER NOT NULL,\n"
	"	exe TEXT,\n"
	"	cwd TEXT,\n"
	"	allocator TEXT,\n"
	"	options TEXT,\n"
	"	mode INTEGER NOT NULL,\n"
	"	start_ns INTEGER NOT NULL, -- monotonic\n"
	"	start_realtime_ns INTEGER NOT NULL,\n"
	"	end_ns INTEGER NOT NULL, -- monotonic; 0 = unknown, or running\n"
	"	ended TEXT NOT NULL, -- exit, signal, exec, killed, running, unknown\n"
	"	status_code INTEGER,\n"
	"	status_signal INTEGER,\n"
	"	core_dumped INTEGER NOT NULL,\n"
	"	peak_rss_bytes INTEGER NOT NULL, -- 0 = unknown\n"
	"	argv_known INTEGER NOT NULL,\n"
	"	symbolised INTEGER NOT NULL,\n"
	"	seep_version TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE argv (position INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;\n"
	"CREATE TABLE child (position INTEGER PRIMARY KEY, pid INTEGER NOT NULL) STRICT;\n"
	"CREATE TABLE kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;\n"
	"CREATE TABLE module (\n"
	"	id INTEGER PRIMARY KEY, -- 1, 2, 3 ...\n"
	"	path TEXT NOT NULL,\n"
	"	bias INTEGER NOT NULL, -- run-time address = link-time address + bias\n"
	"	start_address INTEGER NOT NULL,\n"
	"	end_address INTEGER NOT NULL,\n"
	"	build_id BLOB,\n"
	"	problem TEXT -- why its names are missing\n"
	") STRICT;\n"
	"CREATE TABLE frame (\n"
	"	id INTEGER PRIMARY KEY, -- 1, 2, 3 ...\n"
	"	module INTEGER, -- NULL: address is absolute\n"
	"	address INTEGER NOT NULL, -- link-time; a return address unless exact\n"
	"	exact INTEGER NOT NULL,\n"
	"	inlined INTEGER NOT NULL, -- into the next outer frame of the same address\n"
	"	function TEXT,\n"
	"	file TEXT,\n"
	"	line INTEGER NOT NULL -- 0 = unknown\n"
	") STRICT;\n"
	"CREATE TABLE segment ( -- a piece of stacks that no other stack leaves or joins\n"
	"	id INTEGER PRIMARY KEY, -- 1, 2, 3 ...; greater than its parent's\n"
	"	parent INTEGER, -- what lies further out; NULL: nothing\n"
	"	frames TEXT NOT NULL -- JSON, innermost first: frame, or [frame, period, repeats]\n"
	") STRICT;\n"
	"CREATE TABLE context ( -- all allocations by one call stack\n"
	"	id INTEGER PRIMARY KEY,\n"
	"	hash INTEGER NOT NULL, -- stable across runs\n"
	"	kind INTEGER NOT NULL,\n"
	"	align_log2 INTEGER NOT NULL,\n"
	"	frame INTEGER, -- the innermost one; NULL: no stack\n"
	"	leaf INTEGER, -- segment that ends in it\n"
	"	truncated INTEGER NOT NULL,\n"
	"	cut INTEGER NOT NULL,\n"
	"	by_frame_pointer INTEGER NOT NULL, -- of a frame without unwind information, what called it\n"
	"	no_stack INTEGER NOT NULL,\n"
	"	other INTEGER NOT NULL,\n"
	"	in_doubt INTEGER NOT NULL,\n"
	"	thread TEXT,\n"
	"	scope TEXT,\n"
	"	first_ns INTEGER NOT NULL,\n"
	"	allocs INTEGER NOT NULL,\n"
	"	alloc_bytes INTEGER NOT NULL,\n"
	"	frees INTEGER NOT NULL,\n"
	"	freed_bytes INTEGER NOT NULL,\n"
	"	temporary INTEGER NOT NULL,\n"
	"	live_blocks INTEGER NOT NULL,\n"
	"	live_bytes INTEGER NOT NULL,\n"
	"	peak_blocks INTEGER NOT NULL, -- at the peak of the process\n"
	"	peak_bytes INTEGER NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE epoch ( -- live blocks by when they were allocated\n"
	"	context INTEGER NOT NULL,\n"
	"	epoch INTEGER NOT NULL,\n"
	"	blocks INTEGER NOT NULL,\n"
	"	bytes INTEGER NOT NULL,\n"
	"	PRIMARY KEY (context, epoch)\n"
	") STRICT, WITHOUT ROWID;\n"
	"CREATE TABLE mark ( -- begins an epoch\n"
	"	position INTEGER PRIMARY KEY,\n"
	"	epoch INTEGER NOT NULL,\n"
	"	name TEXT, -- NULL: automatic\n"
	"	at_ns INTEGER NOT NULL,\n"
	"	exact INTEGER NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE sample (\n"
	"	position INTEGER PRIMARY KEY,\n"
	"	at_ns INTEGER NOT NULL,\n"
	"	live_bytes INTEGER NOT NULL,\n"
	"	rss_bytes INTEGER NOT NULL,\n"
	"	allocs INTEGER NOT NULL,\n"
	"	frees INTEGER NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE unseen (\n"
	"	position INTEGER PRIMARY KEY,\n"
	"	code TEXT NOT NULL,\n"
	"	detail TEXT NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE total (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;\n"
	"CREATE TABLE histogram (\n"
	"	bucket INTEGER PRIMARY KEY, -- requests of less than 2^bucket bytes, not less than half\n"
	"	allocs INTEGER NOT NULL\n"
	") STRICT;\n"
	"CREATE TABLE forked ( -- children too small for a recording of their own, summed\n"
	"	id INTEGER PRIMARY KEY CHECK (id = 1),\n"
	"	processes INTEGER NOT NULL,\n"
	"	allocs INTEGER NOT NULL,\n"
	"	alloc_bytes INTEGER NOT NULL,\n"
	"	frees INTEGER NOT NULL,\n"
	"	freed_bytes INTEGER NOT NULL,\n"
	"	live_bytes INTEGER NOT NULL\n"
	") STRICT;\n";

/*
 * The stack of one context costs its depth only: the walk starts at the row's leaf. frame_name
 * says what is known best. Of the JSON functions, only json_each() counts as safe in a schema that
 * is not trusted.
 */
const char seep_recording_views_sql[] =
	"CREATE VIEW frame_name AS\n"
	"SELECT frame.id AS id,\n"
	"	coalesce(frame.function, module.path || printf('+0x%x', frame.address),\n"
	"		printf('0x%x', frame.address)) AS name,\n"
	"	frame.file || iif(frame.line > 0, ':' || frame.line, '') AS place,\n"
	"	module.path AS module, frame.inlined AS inlined\n"
	"FROM frame LEFT JOIN module ON module.id = frame.module;\n"
	"CREATE VIEW top AS\n"
	"SELECT context.id AS id, printf('%016x', context.hash) AS hash, kind.name AS kind,\n"
	"	context.live_bytes AS live_bytes, context.live_blocks AS live_blocks,\n"
	"	context.allocs AS allocs, context.alloc_bytes AS alloc_bytes,\n"
	"	context.frees AS frees, context.freed_bytes AS freed_bytes,\n"
	"	context.peak_bytes AS peak_bytes, context.temporary AS temporary,\n"
	"	frame_name.name AS function, frame_name.place AS place,\n"
	"	frame_name.module AS module,\n"
	"	(WITH RECURSIVE walk(segment, depth) AS (\n"
	"		SELECT context.leaf, 0 WHERE context.leaf IS NOT NULL\n"
	"		UNION ALL\n"
	"		SELECT segment.parent, walk.depth + 1 FROM walk\n"
	"		JOIN segment ON segment.id = walk.segment\n"
	"		WHERE segment.parent IS NOT NULL)\n"
	"	SELECT group_concat(name, ' < ') FROM (\n"
	"		SELECT frame_name.name AS name FROM walk\n"
	"		CROSS JOIN segment ON segment.id = walk.segment\n"
	"		CROSS JOIN json_each(segment.frames) AS entry\n"
	"		CROSS JOIN frame_name ON frame_name.id = iif(entry.type = 'array',\n"
	"			(SELECT value FROM json_each(entry.value) WHERE key = 0), entry.value)\n"
	"		ORDER BY walk.depth, entry.key)) AS stack\n"
	"FROM context LEFT JOIN kind ON kind.id = context.kind\n"
	"LEFT JOIN frame_name ON frame_name.id = context.frame;\n"
	"CREATE VIEW stack_entry AS -- frames of every context by number, innermost segments first\n"
	"WITH RECURSIVE walk(context, segment, depth) AS (\n"
	"	SELECT id, leaf, 0 FROM context WHERE leaf IS NOT NULL\n"
	"	UNION ALL\n"
	"	SELECT walk.context, segment.parent,\n"
	"		walk.depth + (SELECT count(*) FROM json_each(segment.frames)) FROM walk\n"
	"	JOIN segment ON segment.id = walk.segment WHERE segment.parent IS NOT NULL)\n"
	"SELECT walk.context AS context, walk.depth + entry.key AS depth,\n"
	"	iif(entry.type = 'array',\n"
	"		(SELECT value FROM json_each(entry.value) WHERE key = 0), entry.value) AS frame,\n"
	"	iif(entry.type = 'array',\n"
	"		(SELECT value FROM json_each(entry.value) WHERE key = 1), 0) AS period,\n"
	"	iif(entry.type = 'array',\n"
	"		(SELECT value FROM json_each(entry.value) WHERE key = 2), 0) AS repeats\n"
	"FROM walk CROSS JOIN segment ON segment.id = walk.segment\n"
	"CROSS JOIN json_each(segment.frames) AS entry;\n"
	"CREATE VIEW stack AS -- one line per frame of every context; depth 0 = innermost\n"
	"SELECT stack_entry.context AS context, stack_entry.depth AS depth,\n"
	"	frame_name.name AS function, frame_name.place AS place,\n"
	"	frame_name.module AS module, frame_name.inlined AS inlined,\n"
	"	stack_entry.period AS period, stack_entry.repeats AS repeats\n"
	"FROM stack_entry JOIN frame_name ON frame_name.id = stack_entry.frame;\n"
	"CREATE VIEW function AS -- by the function that called the allocator\n"
	"SELECT frame_name.name AS function, frame_name.module AS module,\n"
	"	count(*) AS contexts, sum(context.live_bytes) AS live_bytes,\n"
	"	sum(context.live_blocks) AS live_blocks, sum(context.allocs) AS allocs,\n"
	"	sum(context.alloc_bytes) AS alloc_bytes, sum(context.peak_bytes) AS peak_bytes\n"
	"FROM context LEFT JOIN frame_name ON frame_name.id = context.frame\n"
	"GROUP BY frame_name.name, frame_name.module;\n";

const char *const seep_recording_table_names[] = {
	"process", "argv",   "child",  "module", "frame",     "segment", "context", "epoch",
	"mark",	   "sample", "unseen", "total",	 "histogram", "forked",	 NULL,
};

#define TOTAL(field)                                                \
	{                                                           \
#field, offsetof(struct seep_profile_totals, field) \
	}
#define VERIFY(field)                                                                \
	{                                                                            \
		"verify_" #field, offsetof(struct seep_profile_totals, verify.field) \
	}

const struct seep_recording_total seep_recording_totals[] = {
	TOTAL(allocs),
	TOTAL(alloc_bytes),
	TOTAL(frees),
	TOTAL(freed_bytes),
	TOTAL(live_blocks),
	TOTAL(live_bytes),
	TOTAL(usable_bytes),
	TOTAL(peak_bytes),
	TOTAL(peak_at_ns),
	TOTAL(peak_error_bytes),
	TOTAL(temporary),
	TOTAL(temporary_bytes),
	TOTAL(threads),
	TOTAL(untracked_frees),
	TOTAL(missed_frees),
	TOTAL(inherited_frees),
	TOTAL(inherited_freed_bytes),
	TOTAL(dropped),
	TOTAL(in_doubt),
	TOTAL(abandoned),
	TOTAL(unrecorded_children),
	TOTAL(early_allocs),
	TOTAL(own_bytes),
	TOTAL(walks),
	TOTAL(walks_landed),
	TOTAL(walks_truncated),
	VERIFY(walks),
	VERIFY(landed),
	VERIFY(truncated),
	VERIFY(differences),
};
_Static_assert(sizeof(seep_recording_totals) / sizeof(seep_recording_totals[0]) <= 64,
	       "the reader has a bit for each");
const size_t seep_recording_total_count = sizeof(seep_recording_totals) /
					  sizeof(seep_recording_totals[0]);

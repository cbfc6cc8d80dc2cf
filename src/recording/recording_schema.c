/* SPDX-License-Identifier: MIT */
/* Comments in the SQL stay in the file: ".schema" in any client shows them. */
#include "recording/recording_schema.h"

#include "profile/finding_name.h"

/* clang-format off */
#define COLUMN(type_, row, field, name_, ...) \
	{ .name = name_, .type = SEEP_COLUMN_##type_, .offset = offsetof(struct row, field), __VA_ARGS__ }
#define KEY(type_, name_, ...) { .name = name_, .type = SEEP_COLUMN_##type_, __VA_ARGS__ }
/* clang-format on */

#define P(type, field, ...) COLUMN(type, seep_process_row, process.field, #field, __VA_ARGS__)
#define R(type, field, ...) COLUMN(type, seep_process_row, field, #field, __VA_ARGS__)
static const struct seep_sql_column process[] = {
	KEY(ORDINAL, "id"),
	P(U32, pid),
	P(U32, ppid),
	P(U32, uid),
	P(TEXT, exe),
	P(TEXT, cwd),
	P(TEXT, allocator),
	P(TEXT, options),
	P(U32, mode),
	P(NUMBER, start_ns, .comment = "monotonic"),
	P(NUMBER, start_realtime_ns),
	P(NUMBER, end_ns, .comment = "monotonic; 0 = unknown, or running"),
	R(NAME, ended, .comment = "exit, signal, exec, killed, detached, running, unknown"),
	R(STATUS, status_code),
	R(STATUS, status_signal),
	P(FLAG, core_dumped),
	P(COUNT, peak_rss_bytes, .comment = "0 = unknown"),
	R(FLAG, argv_known),
	R(FLAG, symbolised),
	R(NAME, seep_version),
	COLUMN(NUMBER, seep_process_row, growth_after_ns, "growth_after_ns", .since = 3,
	       .fallback = "0",
	       .comment = "so long a context grows for a verdict; 0: nobody looked"),
	R(U32, schema, .comment = "what of these tables it knew; 2 where this is missing",
	  .since = 3, .fallback = "2"),
	R(NAME, origin, .since = 4, .fallback = "''",
	  .comment = "start, fork, attach: how its recording began; empty: not known"),
	P(NUMBER, ran_before_ns, .since = 4, .fallback = "0",
	  .comment = "it had run for so long when it was attached to; 0 = unknown"),
	P(U32, tiers, .since = 4, .fallback = "0",
	  .comment = "below exact that were in force: 1024 counts, 2048 sampled; 0: none"),
	P(COUNT, sample_bytes, .since = 4, .fallback = "0",
	  .comment = "of these: one in about so many was taken"),
	P(NUMBER, estimates_since_ns, .since = 4, .fallback = "0",
	  .comment = "monotonic: when the first of them was in force"),
};

static const struct seep_sql_column argv[] = {
	KEY(POSITION, "position"),
	KEY(NAME, "value"),
};

static const struct seep_sql_column child[] = {
	KEY(POSITION, "position"),
	KEY(U32, "pid"),
};

static const struct seep_sql_column kind[] = {
	KEY(POSITION, "id"),
	KEY(NAME, "name"),
};

#define M(type, field, name, ...) COLUMN(type, seep_profile_module, field, name, __VA_ARGS__)
static const struct seep_sql_column module[] = {
	KEY(ORDINAL, "id", .comment = "1, 2, 3 ..."),
	M(NAME, path, "path"),
	M(NUMBER, bias, "bias", .comment = "run-time address = link-time address + bias"),
	M(NUMBER, start, "start_address"),
	M(NUMBER, end, "end_address"),
	KEY(BUILD_ID, "build_id"),
	M(TEXT, problem, "problem", .comment = "why its names are missing"),
};

#define F(type, field, ...) COLUMN(type, seep_profile_frame, field, #field, __VA_ARGS__)
static const struct seep_sql_column frame[] = {
	KEY(ORDINAL, "id", .comment = "1, 2, 3 ..."),
	F(ID, module, .comment = "NULL: address is absolute"),
	F(NUMBER, address, .comment = "link-time; a return address unless exact"),
	F(FLAG, exact),
	F(FLAG, inlined, .comment = "into the next outer frame of the same address"),
	F(TEXT, function),
	F(TEXT, file),
	F(U32, line, .comment = "0 = unknown"),
};

#define S(type, field, ...) COLUMN(type, seep_segment_row, field, #field, __VA_ARGS__)
static const struct seep_sql_column segment[] = {
	KEY(ORDINAL, "id", .comment = "1, 2, 3 ...; greater than its parent's"),
	S(ID, parent, .comment = "what lies further out; NULL: nothing"),
	S(PASSING, frames, .comment = "JSON, innermost first: frame, or [frame, period, repeats]"),
};

#define R2(type, field, ...) COLUMN(type, seep_context_row, field, #field, __VA_ARGS__)
#define C(type, field, ...) COLUMN(type, seep_context_row, context.field, #field, __VA_ARGS__)
static const struct seep_sql_column context[] = {
	C(U32, id),
	C(NUMBER, hash, .comment = "stable across runs"),
	C(U8, kind, .max = UINT8_MAX),
	C(U8, align_log2, .max = 63),
	R2(ID, frame, .comment = "the innermost one; NULL: no stack"),
	R2(ID, leaf, .comment = "segment that ends in it"),
	C(FLAG, truncated),
	C(FLAG, cut),
	C(FLAG, by_frame_pointer,
	  .comment = "of a frame without unwind information, what called it"),
	C(FLAG, no_stack),
	C(FLAG, other),
	C(FLAG, in_doubt),
	C(TEXT, thread),
	C(NUMBER, first_ns),
	C(ID, scope, .since = 4, .comment = "the innermost that was open; NULL: none"),
	C(FLAG, site, .since = 4, .fallback = "0",
	  .comment = "by calls from its one frame whose stacks were not walked"),
#define C2(field, since_, comment_) \
	C(COUNT, field, .comment = comment_, .since = since_, .fallback = "0"),
	SEEP_FIGURES(C2)
#undef C2
};

static const struct seep_sql_column epoch[] = {
	COLUMN(U32, seep_epoch_row, context, "context"),
	COLUMN(U32, seep_epoch_row, epoch.epoch, "epoch"),
	COLUMN(COUNT, seep_epoch_row, epoch.blocks, "blocks"),
	COLUMN(COUNT, seep_epoch_row, epoch.bytes, "bytes"),
};

static const struct seep_sql_column estimate[] = {
	COLUMN(U32, seep_estimate_row, context, "context", .comment = "0: of all together"),
#define E(field, since_, comment_) COLUMN(COUNT, seep_estimate_row, field, #field, .since = since_),
	SEEP_FIGURES(E)
#undef E
};

#define M2(type, field, ...) COLUMN(type, seep_profile_mark, field, #field, __VA_ARGS__)
static const struct seep_sql_column mark[] = {
	KEY(POSITION, "position"), M2(U32, epoch),  M2(TEXT, name, .comment = "NULL: automatic"),
	M2(NUMBER, at_ns),	   M2(FLAG, exact),
};

#define S2(type, field) COLUMN(type, seep_profile_sample, field, #field)
static const struct seep_sql_column sample[] = {
	KEY(POSITION, "position"), S2(NUMBER, at_ns), S2(COUNT, live_bytes),
	S2(COUNT, rss_bytes),	   S2(COUNT, allocs), S2(COUNT, frees),
};

static const struct seep_sql_column unseen[] = {
	KEY(POSITION, "position"),
	COLUMN(NAME, seep_profile_unseen, code, "code"),
	COLUMN(NAME, seep_profile_unseen, detail, "detail"),
};

static const struct seep_sql_column total[] = {
	COLUMN(PASSING, seep_total_row, name, "name"),
	COLUMN(COUNT, seep_total_row, value, "value"),
};

static const struct seep_sql_column histogram[] = {
	KEY(INDEX, "bucket", .comment = "requests of less than 2^bucket bytes, not less than half"),
	KEY(COUNT, "allocs"),
};

#define SUM(row, of, field) COLUMN(COUNT, row, of field, #field)
#define ALLOC_SUMS(row, of)                                                   \
	SUM(row, of, allocs), SUM(row, of, alloc_bytes), SUM(row, of, frees), \
		SUM(row, of, freed_bytes), SUM(row, of, live_bytes)
#define SUMS(row, of) SUM(row, of, processes), ALLOC_SUMS(row, of)
static const struct seep_sql_column forked[] = {
	KEY(ORDINAL, "id"),
	SUMS(seep_profile_forked, ),
	COLUMN(COUNT, seep_profile_forked, inherited_frees, "inherited_frees", .since = 3,
	       .comment = "of what their ancestors had allocated"),
	COLUMN(COUNT, seep_profile_forked, inherited_freed_bytes, "inherited_freed_bytes",
	       .since = 3),
};

static const struct seep_sql_column run[] = {
	KEY(ORDINAL, "id"),
	SUMS(seep_profile_run, sums.),
	COLUMN(COUNT, seep_profile_run, peaks_bytes, "peaks_bytes",
	       .comment = "of those with a recording, each at its own time"),
	COLUMN(COUNT, seep_profile_run, peaks_at_once_bytes, "peaks_at_once_bytes",
	       .comment = "the most that peaks of those that ran at the same time sum to"),
};

static const struct seep_sql_column other_process[] = {
	KEY(POSITION, "position"),
	COLUMN(U32, seep_profile_other, pid, "pid"),
	COLUMN(U32, seep_profile_other, ppid, "ppid"),
	COLUMN(TEXT, seep_profile_other, exe, "exe"),
	COLUMN(NAME, seep_profile_other, file, "recording", .comment = "in the folder FILE.d"),
	COLUMN(NUMBER, seep_profile_other, start_ns, "start_ns"),
	COLUMN(NUMBER, seep_profile_other, end_ns, "end_ns"),
	ALLOC_SUMS(seep_profile_other, ),
	COLUMN(COUNT, seep_profile_other, peak_bytes, "peak_bytes"),
};

#define S3(type, field, ...) COLUMN(type, seep_profile_scan, field, #field, __VA_ARGS__)
static const struct seep_sql_column scan[] = {
	KEY(ORDINAL, "id"),
	S3(FLAG, done),
	S3(TEXT, method, .comment = "copy-on-write, stopped, waiting; NULL: not done"),
	S3(TEXT, why_not, .comment = "NULL: done, or nobody asked"),
	S3(NUMBER, at_ns, .comment = "monotonic"),
	S3(NUMBER, pause_ns, .comment = "how long the process stood still"),
	S3(NUMBER, mark_ns),
	S3(COUNT, marked_bytes),
	S3(COUNT, blocks, .comment = "live ones that were looked at"),
};

static const struct seep_sql_column scan_skipped[] = {
	KEY(POSITION, "position"),
	COLUMN(NUMBER, seep_profile_range, from, "from_address"),
	COLUMN(NUMBER, seep_profile_range, to, "to_address"),
	COLUMN(NAME, seep_profile_range, reason, "reason"),
};

static const struct seep_sql_column scan_caveat[] = {
	KEY(POSITION, "position"),
	KEY(NAME, "sentence"),
};

#define S4(type, field, ...) COLUMN(type, seep_profile_suppression, field, #field, __VA_ARGS__)
static const struct seep_sql_column suppression[] = {
	KEY(POSITION, "position"),
	S4(NAME, text),
	S4(TEXT, file, .comment = "NULL: the default list, or the program's own"),
	S4(COUNT, leaks, .comment = "that it matched; 0: not used"),
	S4(COUNT, blocks),
	S4(COUNT, bytes),
};

#define V(type, field, ...) COLUMN(type, seep_verdict_row, field, #field, __VA_ARGS__)
static const struct seep_sql_column verdict[] = {
	KEY(POSITION, "id"),
	V(NAME, name),
	V(NAME, meaning),
	V(FLAG, is_leak, .comment = "counts as a leak unless --leak-kinds says otherwise"),
};

#define L(type, field, ...) COLUMN(type, seep_leak_row, leak.field, #field, __VA_ARGS__)
static const struct seep_sql_column leak[] = {
	KEY(ORDINAL, "id", .comment = "1, 2, 3 ..."),
	L(U8, verdict, .max = UINT8_MAX),
	L(U32, flags, .comment = "1: allocated before main; 2: reported before"),
	L(NUMBER, hash, .comment = "of its context; stable across runs; 0: none"),
	COLUMN(ID, seep_leak_row, context, "context", .comment = "NULL: its stack is not here"),
	L(ID, root, .comment = "the leak that these blocks are lost with"),
	L(COUNT, blocks),
	L(COUNT, bytes),
	L(COUNT, with_blocks, .comment = "of leaks whose root this is"),
	L(COUNT, with_bytes),
	L(COUNT, blocks_error, .since = 4, .fallback = "0", .comment = "as in estimate"),
	L(COUNT, bytes_error, .since = 4, .fallback = "0"),
	L(TEXT, rule, .comment = "how a pointer points to them"),
	L(TEXT, evidence),
	L(TEXT, suppressed_by),
};

#define L2(type, field, name, ...) COLUMN(type, seep_leak_block_row, field, name, __VA_ARGS__)
static const struct seep_sql_column leak_block[] = {
	L2(U32, leak, "leak"),
	L2(U32, position, "position"),
	L2(NUMBER, block.address, "address"),
	L2(COUNT, block.size, "size"),
	L2(CONTENTS, block, "contents", .comment = "its first bytes; NULL: not asked for"),
};

#define L3(type, field, name, ...) COLUMN(type, seep_leak_link_row, field, name, __VA_ARGS__)
static const struct seep_sql_column leak_link[] = {
	L3(U32, leak, "leak"),
	L3(U32, step, "step", .comment = "0: the pointer to the block; then outward"),
	L3(NAME, link.from, "found_in"),
	L3(TEXT, link.name, "name"),
	L3(NUMBER, link.address, "address", .comment = "of the pointer"),
	L3(NUMBER, link.offset, "offset", .comment = "of the pointer, in what it lies in"),
};

#define G(type, field, ...) COLUMN(type, seep_growth_row, growth.field, #field, __VA_ARGS__)
static const struct seep_sql_column growth[] = {
	COLUMN(U32, seep_growth_row, context, "context"),
	G(U8, verdict, .comment = "1 GROWING, 2 STALE", .max = UINT8_MAX),
	G(U8, confidence, .comment = "1 low, 2 medium, 3 high", .max = UINT8_MAX),
	G(NUMBER, since_ns, .comment = "monotonic; of stale blocks: they are older"),
	G(NUMBER, until_ns, .comment = "when it was seen last"),
	G(FLAG, returned, .comment = "it grew until then, and was given back"),
	G(COUNT, bytes, .comment = "by which it grew, or that are stale"),
	G(COUNT, blocks, .comment = "that are stale"),
	G(COUNT, freed_late, .comment = "blocks that were stale, and then freed"),
	G(COUNT, present_bytes_per_hour, .since = 4, .fallback = "0",
	  .comment = "how fast it grew lately; 0: not known"),
	G(NUMBER, quiet_ns, .since = 4, .fallback = "0",
	  .comment = "for so long it had not grown; 0: it went on"),
	G(TEXT, evidence),
};

#define S6(type, field, ...) COLUMN(type, seep_profile_scope, field, #field, __VA_ARGS__)
static const struct seep_sql_column scope[] = {
	KEY(ORDINAL, "id", .comment = "1, 2, 3 ...; greater than its parent's"),
	S6(NAME, tag),
	S6(ID, parent, .comment = "NULL: none was open"),
#define S5(field) S6(COUNT, field),
	SEEP_SCOPE_SUMS(S5)
#undef S5
		S6(COUNT, least_ns, .comment = "+ 1; 0: none was left"),
	S6(COUNT, most_ns),
	S6(NUMBER, first_ns, .comment = "monotonic: when it was first entered"),
	S6(NUMBER, last_ns, .comment = "when it was last left"),
};

static const struct seep_sql_column scope_duration[] = {
	COLUMN(U32, seep_duration_row, scope, "scope"),
	COLUMN(U32, seep_duration_row, bucket, "bucket",
	       .comment = "less than 2^bucket ns, not less than half"),
	COLUMN(COUNT, seep_duration_row, exits, "exits"),
};

#define WORD(constant, name, ...) " " name
#define F2(type, field, ...) COLUMN(type, seep_profile_finding, field, #field, __VA_ARGS__)
static const struct seep_sql_column finding[] = {
	KEY(ORDINAL, "id", .comment = "1, 2, 3 ..."),
	F2(U8, kind, .max = UINT8_MAX, .comment = "from 1 on:" LEDGER_FINDINGS(WORD)),
	F2(U8, freeing, .max = UINT8_MAX, .comment = "from 1 on:" LEDGER_FREEINGS(WORD)),
	F2(U8, family, .max = UINT8_MAX, .comment = "of the block"),
	F2(ID, block, .comment = "context that allocated it; NULL: its stack is not here"),
	F2(ID, freed, .comment = "context of kind free, where it was freed before"),
	F2(ID, here, .comment = "context of kind free, where the program was"),
	F2(NUMBER, hash, .comment = "stable across runs"),
	F2(U32, tid),
	F2(TEXT, thread),
	F2(NUMBER, at_ns, .comment = "monotonic"),
	F2(NUMBER, pointer),
	F2(NUMBER, block_bytes),
	F2(NUMBER, offset, .comment = "of the pointer, from the block's first byte"),
	F2(NUMBER, expected, .comment = "of a mismatch: size or alignment of the block"),
	F2(NUMBER, actual, .comment = "that were said of it"),
	F2(COUNT, count),
	F2(TEXT, suppressed_by),
};

#define OWN .array = SEEP_ARRAY_COUNT
#define ITEMS(items) .array = SEEP_ARRAY_##items
#define FIELD(field) OWN, .place = offsetof(struct seep_profile, field)
#define TABLE(id, name_, keys, rows, row, where, since_, comment_) \
	{ .name = #name_,                                          \
	  .comment = (comment_),                                   \
	  .columns = name_,                                        \
	  .column_count = sizeof(name_) / sizeof(name_[0]),        \
	  .key_count = (keys),                                     \
	  .since = (since_),                                       \
	  .rows_max = (rows),                                      \
	  .row_bytes = sizeof(row),                                \
	  where },

const struct seep_sql_table seep_sql_tables[SEEP_TABLE_COUNT] = { SEEP_TABLES(TABLE) };

static const char *declaration(const struct seep_sql_column *column)
{
	switch (column->type) {
	case SEEP_COLUMN_ID:
	case SEEP_COLUMN_STATUS:
		return "INTEGER";
	case SEEP_COLUMN_TEXT:
		return "TEXT";
	case SEEP_COLUMN_NAME:
	case SEEP_COLUMN_PASSING:
		return "TEXT NOT NULL";
	case SEEP_COLUMN_BUILD_ID:
	case SEEP_COLUMN_CONTENTS:
		return "BLOB";
	default:
		return "INTEGER NOT NULL";
	}
}

/* One integer as the key is the row's number in SQLite's tree; others need a tree by key. */
static bool has_rowid(const struct seep_sql_table *table)
{
	return table->key_count == 1 && table->columns[0].type != SEEP_COLUMN_PASSING;
}

static void add_comment(struct seep_strbuf *sql, const char *comment)
{
	if (comment)
		seep_strbuf_addf(sql, " -- %s", comment);
	seep_strbuf_adds(sql, "\n");
}

void seep_sql_create(const struct seep_sql_table *table, struct seep_strbuf *sql)
{
	const bool rowid = has_rowid(table);

	seep_strbuf_addf(sql, "CREATE TABLE %s (", table->name);
	add_comment(sql, table->comment);
	for (uint8_t i = 0; i < table->column_count; i++) {
		const struct seep_sql_column *column = &table->columns[i];

		seep_strbuf_addf(sql, "\t%s %s%s", column->name,
				 i == 0 && rowid ? "INTEGER PRIMARY KEY" : declaration(column),
				 i + 1 < table->column_count || !rowid ? "," : "");
		add_comment(sql, column->comment);
	}
	for (uint8_t i = 0; !rowid && i < table->key_count; i++)
		seep_strbuf_addf(sql, "%s%s", i ? ", " : "\tPRIMARY KEY (", table->columns[i].name);
	seep_strbuf_adds(sql, rowid ? ") STRICT;\n" : ")\n) STRICT, WITHOUT ROWID;\n");
}

void seep_sql_insert(const struct seep_sql_table *table, struct seep_strbuf *sql)
{
	seep_strbuf_addf(sql, "INSERT INTO %s VALUES (", table->name);
	for (uint8_t i = 0; i < table->column_count; i++)
		seep_strbuf_adds(sql, i ? ",?" : "?");
	seep_strbuf_adds(sql, ")");
}

void seep_sql_select(const struct seep_sql_table *table, uint64_t present, struct seep_strbuf *sql)
{
	seep_strbuf_adds(sql, "SELECT ");
	for (uint8_t i = 0; i < table->column_count; i++) {
		const struct seep_sql_column *column = &table->columns[i];
		const char *fallback = column->fallback ? column->fallback : "NULL";

		seep_strbuf_addf(sql, "%s%s", i ? ", " : "",
				 present >> i & 1 ? column->name : fallback);
	}
	seep_strbuf_addf(sql, " FROM %s ORDER BY 1%s", table->name,
			 table->key_count == 2 ? ", 2" : "");
}

/*
 * The stack of one context costs its depth only: the walk starts at the row's leaf. frame_name
 * says what is known best. Of the JSON functions, only json_each() counts as safe in a schema that
 * is not trusted.
 */
/* clang-format off */
#define STACK_SQL \
	"	(WITH RECURSIVE walk(segment, depth) AS (\n" \
	"		SELECT context.leaf, 0 WHERE context.leaf IS NOT NULL\n" \
	"		UNION ALL\n" \
	"		SELECT segment.parent, walk.depth + 1 FROM walk\n" \
	"		JOIN segment ON segment.id = walk.segment\n" \
	"		WHERE segment.parent IS NOT NULL)\n" \
	"	SELECT group_concat(name, ' < ') FROM (\n" \
	"		SELECT frame_name.name AS name FROM walk\n" \
	"		CROSS JOIN segment ON segment.id = walk.segment\n" \
	"		CROSS JOIN json_each(segment.frames) AS entry\n" \
	"		CROSS JOIN frame_name ON frame_name.id = iif(entry.type = 'array',\n" \
	"			(SELECT value FROM json_each(entry.value) WHERE key = 0), entry.value)\n" \
	"		ORDER BY walk.depth, entry.key))"
/* clang-format on */

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
	"	frame_name.module AS module,\n" STACK_SQL " AS stack\n"
	"FROM context LEFT JOIN kind ON kind.id = context.kind\n"
	"LEFT JOIN frame_name ON frame_name.id = context.frame;\n"
	"CREATE VIEW leaks AS -- table leak with names, in the order of the verdicts\n"
	"SELECT leak.id AS id, coalesce(verdict.name, 'unknown') AS verdict,\n"
	"	coalesce(verdict.is_leak, 0) AS is_leak, leak.bytes AS bytes, leak.blocks AS blocks,\n"
	"	leak.with_bytes AS with_bytes, leak.with_blocks AS with_blocks,\n"
	"	leak.root AS root, leak.context AS context, printf('%016x', leak.hash) AS hash,\n"
	"	leak.rule AS rule, leak.evidence AS evidence, leak.suppressed_by AS suppressed_by,\n"
	"	frame_name.name AS function, frame_name.place AS place,\n"
	"	frame_name.module AS module,\n" STACK_SQL " AS stack\n"
	"FROM leak LEFT JOIN verdict ON verdict.id = leak.verdict\n"
	"LEFT JOIN context ON context.id = leak.context\n"
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

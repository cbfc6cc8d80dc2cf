/* SPDX-License-Identifier: MIT */
/*
 * Recordings of every schema that was released are read for ever, and say what they said. What they
 * held is in frozen/schema-N.txt, taken from their tables by SQL; of what a later schema added they
 * have the default.
 */
#include "base/file.h"
#include "base/strbuf.h"
#include "profile/kind_name.h"
#include "profile/total_fields.h"
#include "recording/recording_rows.h"
#include "recording_case.h"

#include <inttypes.h>
#include <limits.h>
#include <zlib.h>

enum { TEXT_BYTES_MAX = 1 << 20, NAME_BYTES = 512 };

static struct seep_strbuf said;

static const char *word(const char *text)
{
	return text ? text : "-";
}

static void say_process(const struct seep_profile *p)
{
	const struct seep_profile_process *process = &p->process;

	seep_strbuf_addf(&said, "process %u %u %u %s %s %s %s %u\n", process->pid, process->ppid,
			 process->uid, word(process->exe), word(process->cwd),
			 word(process->allocator), word(process->options), process->mode);
	seep_strbuf_addf(&said, "times %" PRIu64 " %" PRIu64 " %" PRIu64 " rss %" PRIu64 "\n",
			 process->start_ns, process->start_realtime_ns, process->end_ns,
			 process->peak_rss_bytes);
	seep_strbuf_addf(&said, "end %s %d %d %d %d symbolised %d\n",
			 seep_profile_ended_name(process->ended), process->has_status,
			 process->status_code, process->status_signal, process->core_dumped,
			 p->symbolised);
	for (int i = 0; process->argv && process->argv[i]; i++)
		seep_strbuf_addf(&said, "argv %s\n", process->argv[i]);
	for (uint32_t i = 0; i < process->child_count; i++)
		seep_strbuf_addf(&said, "child %u\n", process->children[i]);
	seep_strbuf_addf(&said,
			 "forked %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			 " %" PRIu64 "\n",
			 p->forked.processes, p->forked.allocs, p->forked.alloc_bytes,
			 p->forked.frees, p->forked.freed_bytes, p->forked.live_bytes);
}

static void say_modules(const struct seep_profile *p)
{
	for (uint32_t i = 0; i < p->module_count; i++) {
		const struct seep_profile_module *module = &p->modules[i];

		seep_strbuf_addf(&said, "module %s %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
				 module->path, module->bias, module->start, module->end);
		for (uint32_t k = 0; k < module->build_id_bytes; k++)
			seep_strbuf_addf(&said, "%02X", module->build_id[k]);
		seep_strbuf_addf(&said, " %s\n", word(module->problem));
	}
}

static void say_stack(const struct seep_profile *p, const struct seep_profile_context *context)
{
	for (uint32_t i = 0; i < context->stack_count; i++) {
		const struct seep_profile_stack_entry *entry = &context->stack[i];
		const struct seep_profile_frame *frame = &p->frames[entry->frame];

		seep_strbuf_addf(&said, "  %u %" PRIu64 " %d %d %s %s %u", frame->module,
				 frame->address, frame->exact, frame->inlined,
				 word(frame->function), word(frame->file), frame->line);
		if (entry->period)
			seep_strbuf_addf(&said, " fold %u %u", entry->period, entry->repeats);
		seep_strbuf_adds(&said, "\n");
	}
}

static void say_context(const struct seep_profile *p, const struct seep_profile_context *c)
{
	seep_strbuf_addf(&said, "context %u %016" PRIx64 " %s %u flags %d%d%d%d%d%d %s\n", c->id,
			 c->hash, seep_profile_kind_name(c->kind), c->align_log2, c->truncated,
			 c->cut, c->by_frame_pointer, c->no_stack, c->other, c->in_doubt,
			 word(c->thread));
	seep_strbuf_addf(&said,
			 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			 c->first_ns, c->allocs, c->alloc_bytes, c->frees, c->freed_bytes,
			 c->temporary, c->live_blocks, c->live_bytes, c->peak_blocks,
			 c->peak_bytes);
	for (uint32_t i = 0; i < c->epoch_count; i++)
		seep_strbuf_addf(&said, " epoch %u %" PRIu64 " %" PRIu64 "\n", c->epochs[i].epoch,
				 c->epochs[i].blocks, c->epochs[i].bytes);
	say_stack(p, c);
}

static void say_lists(const struct seep_profile *p)
{
	for (uint32_t i = 0; i < p->mark_count; i++)
		seep_strbuf_addf(&said, "mark %u %s %" PRIu64 " %d\n", p->marks[i].epoch,
				 word(p->marks[i].name), p->marks[i].at_ns, p->marks[i].exact);
	for (uint32_t i = 0; i < p->sample_count; i++)
		seep_strbuf_addf(
			&said,
			"sample %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			p->timeline[i].at_ns, p->timeline[i].live_bytes, p->timeline[i].rss_bytes,
			p->timeline[i].allocs, p->timeline[i].frees);
	for (uint32_t i = 0; i < p->unseen_count; i++)
		seep_strbuf_addf(&said, "unseen %s %s\n", p->unseen[i].code, p->unseen[i].detail);
}

static void say_leaks(const struct seep_profile *p)
{
	for (uint32_t i = 0; i < p->leak_count; i++) {
		const struct seep_profile_leak *leak = &p->leaks[i];

		seep_strbuf_addf(&said,
				 "leak %u %u %016" PRIx64 " %u %u %" PRIu64 " %" PRIu64 " %s\n",
				 leak->verdict, leak->flags, leak->hash, leak->context, leak->root,
				 leak->blocks, leak->bytes, word(leak->rule));
	}
}

static void say_totals(const struct seep_profile *p, unsigned schema)
{
	for (size_t i = 0; i < seep_total_field_count; i++)
		if (seep_total_fields[i].since > schema)
			assert_int_equal(seep_total_get(&p->totals, &seep_total_fields[i]), 0);
		else
			seep_strbuf_addf(&said, "total %s %" PRIu64 "\n", seep_total_fields[i].name,
					 seep_total_get(&p->totals, &seep_total_fields[i]));
	for (int i = 0; i < SEEP_PROFILE_HISTOGRAM_BUCKETS; i++)
		if (p->totals.histogram[i])
			seep_strbuf_addf(&said, "bucket %d %" PRIu64 "\n", i,
					 p->totals.histogram[i]);
}

/* All that the recording at path says, in said; what came after @schema says nothing. */
static void say_all_of(unsigned schema)
{
	if (load_again() != 0)
		fail_msg("%s", err.text);
	seep_strbuf_done(&said);
	said = seep_strbuf_of(TEXT_BYTES_MAX);
	say_process(loaded);
	say_modules(loaded);
	for (uint32_t i = 0; i < loaded->context_count; i++)
		say_context(loaded, &loaded->contexts[i]);
	say_lists(loaded);
	say_leaks(loaded);
	say_totals(loaded, schema);
}

static void say_all(void)
{
	say_all_of(UINT_MAX);
}

static void frozen_name(char name[NAME_BYTES], int schema, const char *end)
{
	(void)snprintf(name, NAME_BYTES, "%s/tests/unit/frozen/schema-%d.%s", getenv("SEEP_SOURCE"),
		       schema, end);
}

static void unpack(int schema)
{
	static unsigned char whole[TEXT_BYTES_MAX];
	char name[NAME_BYTES];
	FILE *file;
	gzFile packed;
	int bytes;

	frozen_name(name, schema, "seep.gz");
	packed = gzopen(name, "r");
	assert_non_null(packed);
	bytes = gzread(packed, whole, sizeof(whole));
	assert_true(bytes > 0);
	(void)gzclose(packed);
	file = fopen(path, "w");
	assert_int_equal(fwrite(whole, 1, (size_t)bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

RECORDING_TEST(frozen_recordings_say_what_they_said)
{
	for (int schema = SEEP_SCHEMA_FIRST; schema < SEEP_SCHEMA; schema++) {
		char name[NAME_BYTES];
		char *wanted;

		unpack(schema);
		say_all_of((unsigned)schema);
		frozen_name(name, schema, "txt");
		assert_int_equal(seep_file_read(name, TEXT_BYTES_MAX, &wanted, NULL, &err), 0);
		assert_string_equal(said.text, wanted);
		assert_false(loaded->knows_findings);
		free(wanted);
	}
	seep_strbuf_done(&said);
}

RECORDING_TEST(what_a_later_schema_adds_changes_no_figure)
{
	char *before;

	round_trip();
	say_all();
	before = seep_strbuf_take(&said);
	damage("CREATE TABLE novelty (x); INSERT INTO novelty VALUES (1);"
	       "ALTER TABLE context ADD COLUMN y INTEGER NOT NULL DEFAULT 7;"
	       "UPDATE process SET schema = 99;"
	       "INSERT INTO total VALUES ('novel_bytes', 5)");
	say_all();
	assert_string_equal(said.text, before);
	free(before);
	seep_strbuf_done(&said);
}

RECORDING_TEST(what_was_written_now_is_read_without_what_was_added)
{
	char *before;

	round_trip();
	say_all();
	before = seep_strbuf_take(&said);
	damage("DROP VIEW leaks; ALTER TABLE process DROP COLUMN schema; DROP TABLE run;"
	       "DROP TABLE other_process; DROP TABLE scan; DROP TABLE scan_skipped;"
	       "DROP TABLE scan_caveat; DROP TABLE suppression; DROP TABLE verdict;"
	       "DROP TABLE leak; DROP TABLE leak_block; DROP TABLE leak_link;"
	       "DROP TABLE growth; DROP TABLE finding");
	say_all();
	assert_string_equal(said.text, before);
	assert_false(loaded->scan.done);
	assert_null(loaded->scan.why_not);
	assert_int_equal(loaded->leak_count, 0);
	free(before);
	seep_strbuf_done(&said);
}

RECORDING_TEST(what_the_file_s_own_schema_has_must_be_there)
{
	round_trip();
	damage("UPDATE process SET schema = 99; DROP TABLE forked");
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "no table forked"));
	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
	damage("DELETE FROM total WHERE name = 'walks'; UPDATE process SET schema = -1");
	assert_int_equal(load_again(), -SEEP_ECORRUPT);
	assert_non_null(strstr(err.text, "no total walks"));
}

/* Columns and a table as a schema after this one may add them. */
RECORDING_TEST(a_column_that_is_missing_reads_as_its_default)
{
	static const struct seep_sql_column columns[] = {
		{ .name = "id", .type = SEEP_COLUMN_ORDINAL },
		{ .name = "leaks",
		  .type = SEEP_COLUMN_NUMBER,
		  .fallback = "17",
		  .since = SEEP_SCHEMA + 1 },
		{ .name = "verdict", .type = SEEP_COLUMN_TEXT, .since = SEEP_SCHEMA + 1 },
	};
	static const struct seep_sql_table table = {
		.name = "scan", .columns = columns, .column_count = 3, .key_count = 1
	};
	struct seep_strbuf sql;

	sql = seep_strbuf_of(NAME_BYTES);
	seep_sql_select(&table, 1, &sql);
	assert_string_equal(sql.text, "SELECT id, 17, NULL FROM scan ORDER BY 1");
	seep_strbuf_clear(&sql);
	seep_sql_select(&table, 7, &sql);
	assert_string_equal(sql.text, "SELECT id, leaks, verdict FROM scan ORDER BY 1");
	seep_strbuf_done(&sql);
}

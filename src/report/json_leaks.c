/* SPDX-License-Identifier: MIT */
#include "report/json_leaks.h"

#include "profile/verdict.h"

static void write_flags(struct seep_json *json, uint32_t flags)
{
	seep_json_open_array(json, "flags");
	if (flags & SEEP_LEAK_STARTUP)
		seep_json_text(json, NULL, "startup");
	if (flags & SEEP_LEAK_REPORTED)
		seep_json_text(json, NULL, "reported");
	seep_json_close(json);
}

static void write_chain(struct seep_json *json, const struct seep_profile_leak *leak)
{
	seep_json_open_array(json, "chain");
	for (uint32_t i = 0; i < leak->chain_count; i++) {
		seep_json_open_object(json, NULL);
		seep_json_text(json, "from", leak->chain[i].from);
		seep_json_text(json, "name", leak->chain[i].name);
		seep_json_u64(json, "address", leak->chain[i].address);
		seep_json_u64(json, "offset", leak->chain[i].offset);
		seep_json_close(json);
	}
	seep_json_close(json);
}

static void write_blocks(struct seep_json *json, const struct seep_profile_leak *leak)
{
	seep_json_open_array(json, "block_list");
	for (uint32_t i = 0; i < leak->block_list_count; i++) {
		const struct seep_profile_leak_block *block = &leak->block_list[i];

		seep_json_open_object(json, NULL);
		seep_json_u64(json, "address", block->address);
		seep_json_u64(json, "size", block->size);
		seep_json_hex(json, "bytes_hex", block->contents, block->content_bytes);
		seep_json_close(json);
	}
	seep_json_close(json);
}

/* Whose blocks these are: null where that is not in the document. */
static void write_origin(struct seep_json *json, const struct seep_json_shown *shown,
			 const struct seep_profile_leak *leak,
			 const struct seep_profile_context *context)
{
	const uint32_t root = leak->root ? shown->leak_places[leak->root - 1] : 0;

	if (leak->hash)
		seep_json_hash(json, "hash", leak->hash);
	else
		seep_json_null(json, "hash");
	if (context && shown->context_places)
		seep_json_known(json, "context", shown->context_places[leak->context - 1]);
	else if (context)
		seep_json_int(json, "context", context->id);
	else
		seep_json_null(json, "context");
	if (root)
		seep_json_int(json, "root", root - INT64_C(1));
	else
		seep_json_null(json, "root");
}

static void write_leak(struct seep_json *json, const struct seep_json_shown *shown,
		       const struct seep_profile_leak *leak)
{
	static const struct seep_json_figure figures[] = {
		FIGURE(seep_profile_leak, blocks),
		FIGURE(seep_profile_leak, bytes),
		FIGURE(seep_profile_leak, with_blocks),
		FIGURE(seep_profile_leak, with_bytes),
	};
	const struct seep_profile_context *context = seep_profile_leak_context(shown->profile,
									       leak);

	seep_json_open_object(json, NULL);
	seep_json_text(json, "verdict", seep_verdict_name(leak->verdict));
	write_flags(json, leak->flags);
	write_origin(json, shown, leak, context);
	seep_json_figures(json, leak, figures, COUNT_OF(figures));
	seep_json_text(json, "rule", leak->rule);
	seep_json_text(json, "evidence", leak->evidence);
	seep_json_text(json, "suppressed_by", leak->suppressed_by);
	write_chain(json, leak);
	seep_json_open_array(json, "caveats");
	seep_json_close(json);
	write_blocks(json, leak);
	/* Contexts in columns have it, too. */
	if (!context || !shown->context_places || !shown->context_places[leak->context - 1])
		seep_json_stack(json, shown, context);
	seep_json_close(json);
}

static void write_skipped(struct seep_json *json, const struct seep_profile_scan *scan)
{
	seep_json_open_array(json, "skipped");
	for (uint32_t i = 0; i < scan->skipped_count; i++) {
		seep_json_open_object(json, NULL);
		seep_json_u64(json, "from", scan->skipped[i].from);
		seep_json_u64(json, "to", scan->skipped[i].to);
		seep_json_text(json, "reason", scan->skipped[i].reason);
		seep_json_close(json);
	}
	seep_json_close(json);
}

static void write_suppressions(struct seep_json *json, const struct seep_profile_scan *scan)
{
	seep_json_open_array(json, "suppressions");
	for (uint32_t i = 0; i < scan->suppression_count; i++) {
		const struct seep_profile_suppression *suppression = &scan->suppressions[i];

		seep_json_open_object(json, NULL);
		seep_json_text(json, "text", suppression->text);
		seep_json_text(json, "file", suppression->file);
		seep_json_u64(json, "leaks", suppression->leaks);
		seep_json_u64(json, "blocks", suppression->blocks);
		seep_json_u64(json, "bytes", suppression->bytes);
		seep_json_close(json);
	}
	seep_json_close(json);
}

static void write_scan(struct seep_json *json, const struct seep_profile_scan *scan)
{
	static const struct seep_json_figure figures[] = {
		FIGURE(seep_profile_scan, at_ns),   FIGURE(seep_profile_scan, pause_ns),
		FIGURE(seep_profile_scan, mark_ns), FIGURE(seep_profile_scan, marked_bytes),
		FIGURE(seep_profile_scan, blocks),
	};

	if (!scan->done && !scan->why_not) {
		seep_json_null(json, "scan");
		return;
	}
	seep_json_open_object(json, "scan");
	seep_json_text(json, "method", scan->done ? scan->method : NULL);
	seep_json_text(json, "why_not", scan->done ? NULL : scan->why_not);
	seep_json_figures(json, scan, figures, COUNT_OF(figures));
	write_skipped(json, scan);
	seep_json_open_array(json, "caveats");
	for (uint32_t i = 0; i < scan->caveat_count; i++)
		seep_json_text(json, NULL, scan->caveats[i]);
	seep_json_close(json);
	write_suppressions(json, scan);
	seep_json_close(json);
}

void seep_json_leaks(struct seep_json *json, const struct seep_json_shown *shown)
{
	const struct seep_profile *profile = shown->profile;

	seep_json_open_array(json, "leaks");
	for (uint32_t i = 0; i < shown->leak_count; i++)
		write_leak(json, shown, &profile->leaks[shown->leaks[i]]);
	seep_json_close(json);
	write_scan(json, &profile->scan);
}

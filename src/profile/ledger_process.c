/* SPDX-License-Identifier: MIT */
/* What a ledger says about its process, apart from figures. */
#include "profile/ledger_parts.h"

#include "base/clock.h"
#include "core/bits.h"
#include "ledger/ledger_tier.h"
#include "profile/process_life.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer ones are cut: a hostile ledger must not multiply one string by its number of items. */
enum {
	PATH_BYTES_MAX = 4096,
	OPTIONS_BYTES_MAX = 64 * 1024,
	SUPPRESSIONS_BYTES_MAX = 1 << 20,
	ARGV_BYTES_MAX = 4 * 1024 * 1024,
};

_Static_assert((int)SEEP_PROFILE_BUILD_ID_BYTES == (int)LEDGER_BUILD_ID_BYTES, "build-id");
_Static_assert((int)SEEP_PROFILE_HISTOGRAM_BUCKETS == (int)LEDGER_HISTOGRAM_BUCKETS, "histogram");

char *seep_ledger_text(struct seep_ledger_load *load, struct ledger_string string,
		       uint32_t bytes_max)
{
	const char *bytes = ledger_view_string(&load->view, string);

	if (!bytes)
		return NULL;
	return seep_builder_text(&load->builder, bytes, core_smaller(string.bytes, bytes_max));
}

/* Each argument ends with a zero byte; a last one without is accepted. */
static void load_arguments(struct seep_ledger_load *load)
{
	const struct ledger_string string = load->view.header.argv;
	const char *bytes = ledger_view_string(&load->view, string);
	uint32_t count = string.bytes < ARGV_BYTES_MAX ? string.bytes : ARGV_BYTES_MAX;
	char *text = NULL;

	if (!bytes)
		return;
	for (uint32_t at = 0; at < count; at += (uint32_t)strlen(text) + 1) {
		/* Only what it takes: a text is charged against what the ledger may hold. */
		text = seep_builder_text(&load->builder, bytes + at,
					 strnlen(bytes + at, count - at));
		if (!text)
			break;
		*(char **)seep_profile_add(load->profile, SEEP_ARRAY_ARGV) = text;
	}
	(void)seep_profile_add(load->profile, SEEP_ARRAY_ARGV);
}

static char *copy_allocator(struct seep_ledger_load *load)
{
	char *path;

	if (load->view.header.allocator == LEDGER_ALLOCATOR_GLIBC)
		return seep_profile_strdup(load->profile, "glibc");
	path = seep_ledger_text(load, load->view.header.allocator_path, PATH_BYTES_MAX);
	return path ? path : seep_profile_strdup(load->profile, "unknown");
}

void seep_ledger_load_end(struct seep_ledger_load *load)
{
	const struct ledger_state *state = ledger_view_state(&load->view);
	struct seep_profile_process *process = &load->profile->process;
	const uint32_t mode = LEDGER_GET(ledger_view_control(&load->view)->mode);

	process->mode = mode & LEDGER_MODE_MASK;
	process->tiers = (LEDGER_GET(state->tiers) | mode) & LEDGER_MODE_TIERS;
	process->sample_bytes = process->tiers
					? UINT64_C(1) << core_smaller(load->view.header.sample_log2,
								      LEDGER_SAMPLE_LOG2_MAX)
					: 0;
	process->estimates_since_ns = LEDGER_GET(state->tiers_since_ns);
	process->end_ns = LEDGER_GET(state->ended_ns);
	process->has_status = false;
	switch (LEDGER_GET(state->ended)) {
	case LEDGER_ENDED_EXIT:
		process->ended = SEEP_ENDED_EXIT;
		process->has_status = LEDGER_GET(state->exit_status_known) != 0;
		process->status_code = (int)(LEDGER_GET(state->exit_status) & 0xff);
		break;
	case LEDGER_ENDED_EXEC:
		process->ended = SEEP_ENDED_EXEC;
		break;
	case LEDGER_ENDED_ABORT:
		/* Or its handler has left it. */
		process->ended = load->live ? SEEP_ENDED_RUNNING : SEEP_ENDED_SIGNAL;
		process->has_status = !load->live;
		process->status_signal = SIGABRT;
		break;
	case LEDGER_ENDED_DETACH:
		process->ended = SEEP_ENDED_DETACHED;
		break;
	default:
		process->ended = load->live ? SEEP_ENDED_RUNNING : SEEP_ENDED_KILLED;
	}
}

/* How long the process had run when its ledger was made; 0: that is not known. */
static uint64_t ran_before_ns(const struct ledger_header *header)
{
	const uint64_t tick_ns = SEEP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	const uint64_t boot_ns = seep_clock_ns(CLOCK_REALTIME) - seep_clock_ns(CLOCK_BOOTTIME);
	const uint64_t started_ns = boot_ns + header->start_ticks * tick_ns;

	return header->start_ticks && seep_ledger_is_of_this_boot(header) &&
			       header->created_realtime_ns > started_ns
		       ? header->created_realtime_ns - started_ns
		       : 0;
}

static enum seep_profile_origin origin_of(const struct ledger_header *header)
{
	switch (header->origin) {
	case LEDGER_ORIGIN_START:
		return SEEP_ORIGIN_START;
	case LEDGER_ORIGIN_FORK:
		return SEEP_ORIGIN_FORK;
	case LEDGER_ORIGIN_ATTACH:
		return SEEP_ORIGIN_ATTACH;
	default:
		return SEEP_ORIGIN_UNKNOWN;
	}
}

void seep_ledger_load_process(struct seep_ledger_load *load)
{
	const struct ledger_header *header = &load->view.header;
	struct seep_profile_process *process = &load->profile->process;
	const uint64_t suppressions = LEDGER_GET(ledger_view_state(&load->view)->suppressions);

	process->pid = header->pid;
	process->ppid = header->ppid;
	process->uid = header->uid;
	process->exe = seep_ledger_text(load, header->exe, PATH_BYTES_MAX);
	process->cwd = seep_ledger_text(load, header->cwd, PATH_BYTES_MAX);
	process->options = seep_ledger_text(load, header->options, OPTIONS_BYTES_MAX);
	load_arguments(load);
	if (suppressions)
		process->suppressions =
			seep_ledger_text(load,
					 (struct ledger_string){ (uint32_t)suppressions,
								 (uint32_t)(suppressions >> 32) },
					 SUPPRESSIONS_BYTES_MAX);
	process->allocator = copy_allocator(load);
	process->origin = origin_of(header);
	if (process->origin == SEEP_ORIGIN_ATTACH)
		process->ran_before_ns = ran_before_ns(header);
	process->start_ns = header->created_ns;
	process->start_realtime_ns = header->created_realtime_ns;
}

static void read_module(struct seep_ledger_load *load, const struct ledger_module *from,
			struct seep_profile_module *to)
{
	to->path = seep_ledger_text(load, from->path, PATH_BYTES_MAX);
	to->bias = from->bias;
	to->start = from->start;
	to->end = from->end;
	to->build_id_bytes = from->build_id_bytes;
	if (to->build_id_bytes > sizeof(to->build_id))
		to->build_id_bytes = 0;
	memcpy(to->build_id, from->build_id, to->build_id_bytes);
	if (!to->path)
		to->path = seep_profile_strdup(load->profile, "");
}

static bool is_same_module(const struct seep_profile_module *a, const struct seep_profile_module *b)
{
	return a->bias == b->bias && a->start == b->start && a->end == b->end &&
	       a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

/* The index of the one that is like @module, which is added if it is new. */
static uint32_t find_module(struct seep_ledger_load *load, const struct seep_profile_module *module)
{
	const uint64_t hash = seep_hash_text(seep_hash_mix(module->start, module->bias),
					     module->path);
	size_t at = SEEP_IDTABLE_START;
	uint32_t index;

	while ((index = seep_idtable_find(&load->module_ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (is_same_module(&load->profile->modules[index], module))
			return index;
	index = load->profile->module_count;
	*(struct seep_profile_module *)seep_profile_add(load->profile,
							SEEP_ARRAY_MODULES) = *module;
	seep_idtable_add(&load->module_ids, hash, index);
	return index;
}

void seep_ledger_load_modules(struct seep_ledger_load *load)
{
	/* A node cannot name more. */
	const uint64_t count = core_smaller(load->view.count[LEDGER_TABLE_MODULES], UINT16_MAX);

	load->modules = seep_ledger_grow(load->modules, &load->module_count, count,
					 sizeof(*load->modules));
	for (uint64_t i = 0; i < load->module_count; i++) {
		const struct ledger_module *from = ledger_view_module(&load->view, i);
		struct seep_profile_module module = { 0 };

		if (load->modules[i] || !from || !LEDGER_GET(from->ready))
			continue;
		read_module(load, from, &module);
		load->modules[i] = find_module(load, &module) + 1;
	}
}

static int by_epoch(const void *a, const void *b)
{
	const struct seep_profile_mark *left = a, *right = b;

	return (left->epoch > right->epoch) - (left->epoch < right->epoch);
}

void seep_ledger_load_marks(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	uint32_t unexact = LEDGER_GET(ledger_view_state(&load->view)->unexact_epoch);
	uint64_t count = load->view.count[LEDGER_TABLE_MARKS];

	for (uint64_t i = 0; i < count; i++) {
		const struct ledger_mark *from = ledger_view_mark(&load->view, i);
		struct seep_profile_mark *to;

		/* No epoch comes after the last number: it was written over. */
		if (!from || !LEDGER_GET(from->ready) || from->epoch == UINT32_MAX)
			continue;
		to = seep_profile_add(profile, SEEP_ARRAY_MARKS);
		to->epoch = from->epoch;
		to->at_ns = from->at_ns;
		if (from->name[0] != '\0')
			to->name = seep_profile_strndup(profile, from->name, sizeof(from->name));
		to->exact = unexact == 0 || to->epoch < unexact;
	}
	if (count > 0 && count == load->view.header.table[LEDGER_TABLE_MARKS].capacity)
		seep_profile_add_unseen(profile, "marks-full",
					"the ledger has room for %" PRIu64
					" marks; later ones were not recorded",
					count);
	if (profile->mark_count > 1)
		qsort(profile->marks, profile->mark_count, sizeof(*profile->marks), by_epoch);
}

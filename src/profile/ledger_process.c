/* SPDX-License-Identifier: MIT */
/* What a ledger says about its process, apart from figures. */
#include "profile/ledger_parts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Longer ones are cut: a hostile ledger must not multiply one string by its number of items. */
enum {
	PATH_BYTES_MAX = 4096,
	OPTIONS_BYTES_MAX = 64 * 1024,
	ARGV_BYTES_MAX = 4 * 1024 * 1024,
};

_Static_assert((int)SEEP_PROFILE_BUILD_ID_BYTES == (int)LEDGER_BUILD_ID_BYTES, "build-id");
_Static_assert((int)SEEP_PROFILE_HISTOGRAM_BUCKETS == (int)LEDGER_HISTOGRAM_BUCKETS, "histogram");
_Static_assert((int)SEEP_PROFILE_KIND_COUNT == (int)LEDGER_KIND_COUNT, "kinds");

#define LOAD(field) atomic_load_explicit(&(field), memory_order_acquire)

static char *copy_string(struct seep_ledger_load *load, struct ledger_string string,
			 uint32_t bytes_max)
{
	const char *bytes = ledger_view_string(&load->view, string);

	if (!bytes)
		return NULL;
	return seep_profile_strndup(load->profile, bytes,
				    string.bytes < bytes_max ? string.bytes : bytes_max);
}

/* Each argument ends with a zero byte; a last one without is accepted. */
static char **split_arguments(struct seep_ledger_load *load, const char *bytes, uint32_t total)
{
	uint32_t count = 1;
	uint32_t used = 0;
	char **argv;

	for (uint32_t i = 0; i < total; i++)
		count += bytes[i] == '\0';
	argv = seep_profile_calloc(load->profile, (size_t)count + 1, sizeof(*argv));
	for (uint32_t at = 0; at < total; used++) {
		argv[used] = seep_profile_strndup(load->profile, bytes + at, total - at);
		at += (uint32_t)strlen(argv[used]) + 1;
	}
	return argv;
}

static char **copy_arguments(struct seep_ledger_load *load)
{
	struct ledger_string string = load->view.header.argv;
	const char *bytes = ledger_view_string(&load->view, string);

	if (!bytes)
		return NULL;
	return split_arguments(load, bytes,
			       string.bytes < ARGV_BYTES_MAX ? string.bytes : ARGV_BYTES_MAX);
}

static char *copy_allocator(struct seep_ledger_load *load)
{
	char *path;

	if (load->view.header.allocator == LEDGER_ALLOCATOR_GLIBC)
		return seep_profile_strdup(load->profile, "glibc");
	path = copy_string(load, load->view.header.allocator_path, PATH_BYTES_MAX);
	return path ? path : seep_profile_strdup(load->profile, "unknown");
}

static void load_end(struct seep_ledger_load *load)
{
	const struct ledger_state *state = ledger_view_state(&load->view);
	struct seep_profile_process *process = &load->profile->process;

	process->end_ns = LOAD(state->ended_ns);
	switch (LOAD(state->ended)) {
	case LEDGER_ENDED_EXIT:
		process->ended = SEEP_ENDED_EXIT;
		process->has_status = LOAD(state->exit_status_known) != 0;
		process->status_code = (int)(LOAD(state->exit_status) & 0xff);
		break;
	case LEDGER_ENDED_EXEC:
		process->ended = SEEP_ENDED_EXEC;
		break;
	case LEDGER_ENDED_ABORT:
		process->ended = SEEP_ENDED_SIGNAL;
		process->has_status = true;
		process->status_signal = SIGABRT;
		break;
	default:
		process->ended = load->live ? SEEP_ENDED_RUNNING : SEEP_ENDED_KILLED;
	}
}

void seep_ledger_load_process(struct seep_ledger_load *load)
{
	const struct ledger_header *header = &load->view.header;
	struct seep_profile_process *process = &load->profile->process;

	process->pid = header->pid;
	process->ppid = header->ppid;
	process->uid = header->uid;
	process->exe = copy_string(load, header->exe, PATH_BYTES_MAX);
	process->cwd = copy_string(load, header->cwd, PATH_BYTES_MAX);
	process->options = copy_string(load, header->options, OPTIONS_BYTES_MAX);
	process->argv = copy_arguments(load);
	process->allocator = copy_allocator(load);
	process->mode = LOAD(ledger_view_control(&load->view)->mode) & LEDGER_MODE_MASK;
	process->start_ns = header->created_ns;
	process->start_realtime_ns = header->created_realtime_ns;
	load_end(load);
}

static void load_module(struct seep_ledger_load *load, const struct ledger_module *from,
			struct seep_profile_module *to)
{
	if (!LOAD(from->ready))
		return;
	to->path = copy_string(load, from->path, PATH_BYTES_MAX);
	to->bias = from->bias;
	to->start = from->start;
	to->end = from->end;
	to->build_id_bytes = from->build_id_bytes;
	if (to->build_id_bytes > sizeof(to->build_id))
		to->build_id_bytes = 0;
	memcpy(to->build_id, from->build_id, to->build_id_bytes);
}

/* Indices are the ledger's: one that is not published keeps its place, without a path. */
void seep_ledger_load_modules(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	uint64_t count = load->view.count[LEDGER_TABLE_MODULES];

	if (count > UINT16_MAX)
		count = UINT16_MAX; /* a node cannot name more */
	profile->modules = seep_profile_calloc(profile, count, sizeof(*profile->modules));
	profile->module_count = (uint32_t)count;
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct ledger_module *module = ledger_view_module(&load->view, i);

		if (module)
			load_module(load, module, &profile->modules[i]);
		if (!profile->modules[i].path)
			profile->modules[i].path = seep_profile_strdup(profile, "");
	}
}

static int by_epoch(const void *a, const void *b)
{
	const struct seep_profile_mark *left = a;
	const struct seep_profile_mark *right = b;

	return (left->epoch > right->epoch) - (left->epoch < right->epoch);
}

void seep_ledger_load_marks(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	uint32_t unexact = LOAD(ledger_view_state(&load->view)->unexact_epoch);
	uint64_t count = load->view.count[LEDGER_TABLE_MARKS];

	profile->marks = seep_profile_calloc(profile, count, sizeof(*profile->marks));
	for (uint64_t i = 0; i < count; i++) {
		const struct ledger_mark *from = ledger_view_mark(&load->view, i);
		struct seep_profile_mark *to = &profile->marks[profile->mark_count];

		if (!from || !LOAD(from->ready))
			continue;
		to->epoch = from->epoch;
		to->at_ns = from->at_ns;
		to->exact = unexact == 0 || from->epoch < unexact;
		if (from->name[0] != '\0')
			to->name = seep_profile_strndup(profile, from->name, sizeof(from->name));
		profile->mark_count++;
	}
	if (profile->mark_count > 1)
		qsort(profile->marks, profile->mark_count, sizeof(*profile->marks), by_epoch);
}

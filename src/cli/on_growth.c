/* SPDX-License-Identifier: MIT */
#include "cli/on_growth.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/growth_text.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "cli/complain.h"
#include "view/frame_text.h"

/* The kernel takes no string of 128 KB. */
enum { VALUES = 10, VALUE_MAX = 4096, END_WAIT_S = 5, PAUSE_NS = 5 * 1000 * 1000 };

static void environment_free(char **list)
{
	for (size_t i = 0; i < VALUES; i++)
		free(list[i]);
	free(list);
}

/* "load_file ← visit ← main": who called the function to blame. */
static char *callers_of(const struct seep_sites *sites, const struct seep_profile_context *context)
{
	const struct seep_profile *profile = sites->profile;
	const struct seep_profile_stack_entry *stack = context->stack;
	const struct seep_stack_part part = seep_sites_trim(sites, stack, context->stack_count);
	SEEP_STRBUF(text, VALUE_MAX);
	int count = 0;

	for (uint32_t i = part.first + 1; i < part.end; i++) {
		SEEP_FREED char *name = NULL;

		if (seep_sites_passes(sites, stack, part, i))
			continue;
		name = seep_frame_name(profile, &profile->frames[stack[i].frame], SEEP_NAME_BRIEF);
		seep_strbuf_addf(&text, "%s%s", count++ ? " ← " : "", name);
	}
	return seep_strbuf_take(&text);
}

/* The values first, which are ours to release, then what is inherited and named otherwise. */
static char **environment_of(const struct seep_sites *sites,
			     const struct seep_profile_context *context,
			     const struct seep_profile_growth *growth)
{
	const struct seep_profile *profile = sites->profile;
	const struct seep_profile_frame *blamed = seep_sites_blamed(sites, context);
	const char *function = blamed && blamed->function ? blamed->function : "";
	const char *file = blamed && blamed->file ? blamed->file : "";
	SEEP_FREED char *evidence = seep_growth_evidence(profile, context, growth);
	SEEP_FREED char *callers = callers_of(sites, context);
	size_t count = 0, used = VALUES;
	char **list;

	while (environ[count])
		count++;
	list = seep_xcalloc(count + VALUES + 1, sizeof(*list));
	list[0] = seep_xasprintf("SEEP_PID=%" PRIu32, profile->process.pid);
	list[1] = seep_xasprintf("SEEP_EXE=%.*s", VALUE_MAX,
				 profile->process.exe ? profile->process.exe : "");
	list[2] = seep_xasprintf("SEEP_FUNCTION=%.*s", VALUE_MAX, function);
	list[3] = seep_xasprintf("SEEP_FILE=%.*s", VALUE_MAX, file);
	list[4] = seep_xasprintf("SEEP_LINE=%" PRIu32, blamed ? blamed->line : 0);
	list[5] = seep_xasprintf("SEEP_GROWN_BYTES=%" PRIu64, growth->bytes);
	list[6] = seep_xasprintf("SEEP_BYTES_PER_HOUR=%" PRIu64,
				 seep_growth_bytes_per_hour(growth));
	list[7] = seep_xasprintf("SEEP_EVIDENCE=%.*s", VALUE_MAX, evidence);
	list[8] = seep_xasprintf("SEEP_HASH=%016" PRIx64, context->hash);
	list[9] = seep_xasprintf("SEEP_CALLERS=%.*s", VALUE_MAX, callers);
	for (size_t i = 0; i < count; i++) {
		bool ours = false;

		for (size_t k = 0; k < VALUES; k++)
			ours |= strncmp(environ[i], list[k],
					(size_t)(strchr(list[k], '=') - list[k]) + 1) == 0;
		if (!ours)
			list[used++] = environ[i];
	}
	return list;
}

/* Apart from our process group: Ctrl-C is for us, and it may well outlive us. */
static void start(struct seep_on_growth *on, char **environment)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)on->command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t signals;

	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawnattr_init(&how);
	(void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (on->quiet)
		(void)posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&files, 2, 1);
	(void)sigemptyset(&signals);
	(void)posix_spawnattr_setsigmask(&how, &signals);
	(void)sigfillset(&signals);
	(void)posix_spawnattr_setsigdefault(&how, &signals);
	(void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						     POSIX_SPAWN_SETSIGDEF);
	if (posix_spawn(&on->pid, "/bin/sh", &files, &how, argv, environment) != 0) {
		on->pid = 0;
		on->left_out_count++;
	}
	(void)posix_spawnattr_destroy(&how);
	(void)posix_spawn_file_actions_destroy(&files);
}

void seep_on_growth_add(struct seep_on_growth *on, const struct seep_sites *sites,
			const struct seep_growth_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct seep_growth_item *item = &list->items[i];
		const uint32_t place = seep_profile_context_of(sites->profile, item->id);

		if (!item->is_news || place == 0)
			continue;
		if (on->waiting_count == SEEP_ON_GROWTH_WAITING_MAX)
			on->left_out_count++;
		else
			on->waiting[on->waiting_count++] = environment_of(
				sites, &sites->profile->contexts[place - 1], &item->growth);
	}
	seep_on_growth_poll(on);
}

void seep_on_growth_poll(void *user)
{
	struct seep_on_growth *on = user;
	char **environment;

	if (on->pid > 0 && waitpid(on->pid, NULL, WNOHANG) != 0)
		on->pid = 0;
	if (on->pid > 0 || on->waiting_count == 0)
		return;
	environment = on->waiting[0];
	memmove(on->waiting, on->waiting + 1, --on->waiting_count * sizeof(on->waiting[0]));
	start(on, environment);
	environment_free(environment);
}

void seep_on_growth_done(struct seep_on_growth *on, const char *command)
{
	const uint64_t until_ns = seep_monotonic_ns() + END_WAIT_S * SEEP_NS_PER_S;

	while (on->waiting_count > 0 && seep_monotonic_ns() < until_ns) {
		seep_on_growth_poll(on);
		if (on->waiting_count > 0)
			(void)nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	on->left_out_count += on->waiting_count;
	while (on->waiting_count > 0)
		environment_free(on->waiting[--on->waiting_count]);
	if (on->left_out_count > 0)
		seep_complainf(command, "--on-growth: not run %zu times", on->left_out_count);
}

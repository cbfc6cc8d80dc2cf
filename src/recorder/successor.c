/* SPDX-License-Identifier: MIT */
#include "recorder/successor.h"

#include "base/file.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "target/limits.h"
#include "target/preflight.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROC_MAX_BYTES = 16 << 20 };

/* NULL when it cannot be read. Release with free(). */
static char *read_of(uint32_t pid, const char *file, size_t *ret_bytes)
{
	char path[64];
	char *text = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	if (seep_file_read(path, PROC_MAX_BYTES, &text, ret_bytes, NULL) < 0)
		return NULL;
	return text;
}

static char *exe_of(uint32_t pid)
{
	char target[PATH_MAX], path[64];
	ssize_t bytes;

	(void)snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	bytes = readlink(path, target, sizeof(target) - 1);
	return bytes > 0 ? seep_xstrndup(target, (size_t)bytes) : NULL;
}

enum preloaded { IS_NOT_IN, IS_IN, HAS_A_LEDGER };

/* What has a ledger mapped may still be the program before the exec. */
static enum preloaded library_in(uint32_t pid)
{
	char *maps = read_of(pid, "maps", NULL);
	enum preloaded found = IS_NOT_IN;

	/* While it execs, and at its end, a process has none. */
	if (!maps || !*maps || strstr(maps, ".ledger"))
		found = HAS_A_LEDGER;
	else if (strstr(maps, "/libseep.so"))
		found = IS_IN;
	free(maps);
	return found;
}

static bool is_asked_for_library(uint32_t pid)
{
	size_t bytes = 0;
	char *text = read_of(pid, "environ", &bytes);
	bool asked = !text;

	for (const char *at = text; text && at < text + bytes; at += strlen(at) + 1)
		asked |= strncmp(at, "LD_PRELOAD=", 11) == 0 && strstr(at, "libseep.so");
	free(text);
	return asked;
}

static char *why_user(const struct ledger_header *ledger, uint32_t pid)
{
	struct seep_procfs_status status;

	if (seep_procfs_status(pid, &status, NULL) < 0 || status.uid == ledger->uid)
		return NULL;
	return seep_xasprintf("it ran as user %u; should it have a ledger, that is in "
			      "/dev/shm/seep-%u",
			      status.uid, status.uid);
}

static char *why_program(const char *exe)
{
	struct seep_program program;
	struct seep_error err = { 0 };
	int rc = seep_preflight(exe, &program, &err);

	if (rc == 0)
		seep_program_done(&program);
	return rc == -SEEP_EUNSUPPORTED ? seep_xstrdup(err.text) : NULL;
}

static char *why_limits(uint32_t pid)
{
	const struct seep_limits limits = seep_limits_of(pid);
	const char *command = "";
	char *why = seep_limits_why(&limits, &command);
	char *text = why ? seep_xasprintf("%s (\"%s\")", why, command) : NULL;

	free(why);
	return text;
}

/* The library is in it. */
static char *why_no_ledger(uint32_t pid)
{
	char *why = why_limits(pid);

	return why ? why : seep_xstrdup("the library was loaded, but made no ledger");
}

static char *why_no_library(const struct ledger_header *ledger, uint32_t pid, const char *exe)
{
	char *why = why_program(exe);

	if (!why && !is_asked_for_library(pid))
		why = seep_xstrdup("LD_PRELOAD had been taken out of its environment");
	return why ? why : why_user(ledger, pid);
}

static bool is_same(const struct ledger_header *ledger, uint32_t pid,
		    struct seep_procfs_stat *ret_stat)
{
	return seep_procfs_stat(pid, ret_stat, NULL) == 0 &&
	       ret_stat->start_ticks == ledger->start_ticks;
}

void seep_successor_look(struct seep_successor *successor, const struct ledger_header *ledger,
			 uint32_t pid)
{
	struct seep_successor seen = { 0 };
	enum preloaded preloaded = library_in(pid);
	struct seep_procfs_stat stat;

	if (preloaded == HAS_A_LEDGER)
		return;
	if (!successor->met) {
		successor->met = true;
		return;
	}
	seen.name = exe_of(pid);
	if (!seen.name)
		return;
	seen.why = preloaded == IS_IN ? why_no_ledger(pid) : why_no_library(ledger, pid, seen.name);
	/* All of that was about this process, and about one program. */
	if (!is_same(ledger, pid, &stat) || library_in(pid) != preloaded) {
		seep_successor_done(&seen);
		return;
	}
	seep_successor_done(successor);
	*successor = seen;
}

void seep_successor_look_at_dead(struct seep_successor *successor,
				 const struct ledger_header *ledger, uint32_t pid)
{
	struct seep_procfs_stat stat;
	char *why;

	if (!is_same(ledger, pid, &stat))
		return;
	why = successor->why ? NULL : why_user(ledger, pid);
	if (!why && !successor->why)
		why = why_limits(pid);
	if (why)
		successor->why = why;
	if (!successor->name)
		successor->name = seep_xstrdup(stat.name);
}

void seep_successor_explain(const struct seep_successor *successor, struct seep_profile *profile)
{
	const char *before = profile->process.exe ? seep_path_base(profile->process.exe) : "";

	seep_profile_add_unseen(
		profile, "exec-unrecorded",
		"this is about %s; %s, which it became by exec, was not recorded: %s",
		*before ? before : "the first program",
		successor->name ? successor->name : "another program",
		successor->why ? successor->why
			       : "no ledger of it was found (its environment may "
				 "lack LD_PRELOAD, or its loader ignore it)");
}

void seep_successor_done(struct seep_successor *successor)
{
	free(successor->name);
	free(successor->why);
	*successor = (struct seep_successor){ 0 };
}

/* SPDX-License-Identifier: MIT */
#include "recorder/successor.h"

#include "base/path.h"
#include "base/xalloc.h"
#include "target/reasons.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL_NAME_BYTES = 15 };

/* NULL: it has ended, or may not be looked at. */
static char *program_of(uint32_t pid)
{
	char link[32], path[PATH_MAX];
	ssize_t bytes;

	(void)snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	bytes = readlink(link, path, sizeof(path));
	return bytes > 0 ? seep_xstrndup(path, (size_t)bytes) : NULL;
}

/* From here its root folder, if it has one of its own, is part of the path. */
static bool ends_in(const char *path, const char *end)
{
	const size_t bytes = strlen(path), end_bytes = strlen(end);

	return bytes >= end_bytes && strcmp(path + bytes - end_bytes, end) == 0;
}

bool seep_successor_catch(struct seep_successor *successor, const char *before, uint32_t pid)
{
	char *path = program_of(pid);

	if (path && !ends_in(path, before)) {
		free(successor->path);
		successor->path = path;
		return true;
	}
	free(path);
	return false;
}

static void look_at(struct seep_facts *facts, const struct ledger_header *ledger, uint32_t pid)
{
	seep_facts_init(facts);
	facts->uid = ledger->uid;
	facts->process.is_ours = true;
	seep_facts_look_at_process(facts, pid);
	facts->process.exists &= facts->process.start_ticks == ledger->start_ticks;
}

/* NULL: it is not to be seen. */
static char *first_reason(const struct seep_facts *facts)
{
	struct seep_finding reason;

	return seep_reasons_first(facts, &reason)
		       ? seep_xasprintf("%s; %s", reason.sentence, reason.advice)
		       : NULL;
}

void seep_successor_look(struct seep_successor *successor, const struct ledger_header *ledger,
			 uint32_t pid)
{
	const struct seep_process_facts *process;
	struct seep_facts facts;
	bool is_seen;

	look_at(&facts, ledger, pid);
	process = &facts.process;
	/* What has a ledger mapped may still be the program before the exec. */
	is_seen = process->exists && process->exe && process->can_look && !process->ledger;
	if (is_seen && successor->met) {
		free(successor->path);
		free(successor->why);
		successor->path = seep_xstrdup(process->exe);
		successor->why = first_reason(&facts);
		successor->looked = true;
	}
	successor->met = is_seen;
	seep_facts_done(&facts);
}

void seep_successor_look_at_dead(struct seep_successor *successor,
				 const struct ledger_header *ledger, uint32_t pid)
{
	struct seep_facts facts;

	look_at(&facts, ledger, pid);
	seep_successor_done(successor);
	if (facts.process.exists) {
		successor->why = first_reason(&facts);
		successor->name = seep_xstrdup(facts.process.name);
	}
	seep_facts_done(&facts);
}

static void take_text(char **to, char **from)
{
	if (*to)
		return;
	*to = *from;
	*from = NULL;
}

void seep_successor_merge(struct seep_successor *successor, struct seep_successor *other)
{
	take_text(&successor->path, &other->path);
	take_text(&successor->name, &other->name);
	take_text(&successor->why, &other->why);
	seep_successor_done(other);
}

/* What its file says, which holds whatever its process does. NULL: nothing, or it is not to be found. */
static char *reason_of_file(const char *path)
{
	struct seep_facts facts;
	char *why = NULL;

	seep_facts_init(&facts);
	seep_facts_look_at_program(&facts, path);
	if (facts.program.is_unsupported)
		why = first_reason(&facts);
	seep_facts_done(&facts);
	return why;
}

struct seep_successor_words seep_successor_words(const struct seep_successor *successor)
{
	const char *name = successor->path ? successor->path : successor->name;
	struct seep_successor_words words = { .name = seep_xstrdup(name ? name
									: "another program") };

	/* The kernel cuts long names off. Of a short one it may be what PATH leads to. */
	if (successor->path || (name && strlen(name) != KERNEL_NAME_BYTES))
		words.why = reason_of_file(name);
	if (!words.why)
		words.why = seep_xstrdup(successor->why
						 ? successor->why
						 : "it made no ledger (LD_PRELOAD may be missing "
						   "in its environment, or its loader ignores it)");
	return words;
}

void seep_successor_explain(const struct seep_successor *successor, struct seep_profile *profile)
{
	const char *before = profile->process.exe ? seep_path_base(profile->process.exe) : "";
	struct seep_successor_words words = seep_successor_words(successor);

	seep_profile_add_unseen(
		profile, "exec-unrecorded",
		"the process then called exec: this recording is of %s only; %s was not recorded: %s",
		*before ? before : "the first program", words.name, words.why);
	free(words.name);
	free(words.why);
}

void seep_successor_done(struct seep_successor *successor)
{
	free(successor->path);
	free(successor->name);
	free(successor->why);
	*successor = (struct seep_successor){ 0 };
}

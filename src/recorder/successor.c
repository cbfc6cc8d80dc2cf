/* SPDX-License-Identifier: MIT */
#include "recorder/successor.h"

#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "target/reasons.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL_NAME_BYTES = 15 };

#define REMOVED " (deleted)" /* what the kernel adds to the path of a program whose file is gone */

/* Does @end stand at the end of the first @bytes of @path? */
static bool ends_in(const char *path, size_t bytes, const char *end)
{
	const size_t end_bytes = strlen(end);

	return bytes >= end_bytes && memcmp(path + bytes - end_bytes, end, end_bytes) == 0;
}

/* From here its root folder, if it has one of its own, is part of the path. */
static bool is_at(const char *path, const char *before)
{
	const size_t bytes = strlen(path);

	return ends_in(path, bytes, before) ||
	       (ends_in(path, bytes, REMOVED) && ends_in(path, bytes - strlen(REMOVED), before));
}

bool seep_successor_catch(struct seep_successor *successor, const char *before, uint32_t pid)
{
	char *path = seep_procfs_exe(pid);

	if (path && !is_at(path, before)) {
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
	facts->process.exists &= seep_procfs_began(pid, facts->process.start_ticks,
						   ledger->start_ticks);
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
	SEEP_RELEASED(seep_facts_done) struct seep_facts facts;
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
}

void seep_successor_look_at_dead(struct seep_successor *successor,
				 const struct ledger_header *ledger, uint32_t pid)
{
	SEEP_RELEASED(seep_facts_done) struct seep_facts facts;

	look_at(&facts, ledger, pid);
	seep_successor_done(successor);
	if (facts.process.exists) {
		successor->why = first_reason(&facts);
		successor->name = seep_xstrdup(facts.process.name);
	}
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

/* What its file says, which holds whatever its process does. NULL: nothing, or it is not found. */
static char *reason_of_file(const char *path)
{
	SEEP_RELEASED(seep_facts_done) struct seep_facts facts;

	seep_facts_init(&facts);
	seep_facts_look_at_program(&facts, path);
	return facts.program.is_unsupported ? first_reason(&facts) : NULL;
}

char *seep_successor_text(const struct seep_successor *successor)
{
	const char *name = successor->path ? successor->path : successor->name;
	bool is_whole = successor->path || (name && strlen(name) != KERNEL_NAME_BYTES);
	/* Of a name alone it is what PATH leads to. The kernel cuts long ones off. */
	SEEP_FREED char *of_file = is_whole ? reason_of_file(name) : NULL;
	const char *why = of_file ? of_file : successor->why;

	return seep_xasprintf("%s was not recorded: %s", name ? name : "another program",
			      why ? why
				  : "it made no ledger (LD_PRELOAD may be missing in its "
				    "environment, or its loader ignores it)");
}

void seep_successor_explain(const struct seep_successor *successor, struct seep_profile *profile)
{
	const char *before = profile->process.exe ? seep_path_base(profile->process.exe) : "";
	SEEP_FREED char *text = seep_successor_text(successor);

	seep_profile_add_unseen(profile, "exec-unrecorded",
				"the process then called exec: this recording is of %s only; %s",
				*before ? before : "the first program", text);
}

void seep_successor_done(struct seep_successor *successor)
{
	free(successor->path);
	free(successor->name);
	free(successor->why);
	*successor = (struct seep_successor){ 0 };
}

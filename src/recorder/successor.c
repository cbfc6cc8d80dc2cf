/* SPDX-License-Identifier: MIT */
#include "recorder/successor.h"

#include "base/path.h"
#include "base/xalloc.h"
#include "target/reasons.h"

#include <stdlib.h>
#include <string.h>

static void look_at(struct seep_facts *facts, const struct ledger_header *ledger, uint32_t pid)
{
	seep_facts_init(facts);
	facts->uid = ledger->uid;
	facts->process.is_ours = true;
	seep_facts_look_at_process(facts, pid);
	facts->process.exists &= facts->process.start_ticks == ledger->start_ticks;
}

/* What has a ledger mapped may still be the program before the exec. */
static bool is_to_be_seen(const struct seep_process_facts *process)
{
	return process->exists && process->exe && process->can_look && !process->ledger;
}

/* NULL: it is not to be seen. */
static char *why(const struct seep_facts *facts)
{
	struct seep_finding reason;

	return seep_reasons_first(facts, &reason)
		       ? seep_xasprintf("%s; %s", reason.sentence, reason.advice)
		       : NULL;
}

/* Of a file that is not to be found from here, nothing is known. */
static void look_at_program(struct seep_facts *facts)
{
	seep_facts_look_at_program(facts, facts->process.exe);
	if (facts->program.problem && !facts->program.is_unsupported)
		facts->looked &= ~(unsigned)SEEP_FACTS_PROGRAM;
}

/* All of that was about one program: in the middle of an exec there are two. */
static bool is_still(const struct seep_process_facts *process, const struct ledger_header *ledger)
{
	struct seep_facts again;
	bool same;

	look_at(&again, ledger, process->pid);
	same = is_to_be_seen(&again.process) && strcmp(again.process.exe, process->exe) == 0 &&
	       again.process.has_library == process->has_library;
	seep_facts_done(&again);
	return same;
}

void seep_successor_look(struct seep_successor *successor, const struct ledger_header *ledger,
			 uint32_t pid)
{
	struct seep_facts facts;

	look_at(&facts, ledger, pid);
	if (is_to_be_seen(&facts.process) && successor->met) {
		look_at_program(&facts);
		if (is_still(&facts.process, ledger)) {
			seep_successor_done(successor);
			successor->name = seep_xstrdup(facts.process.exe);
			successor->why = why(&facts);
		}
	}
	successor->met = is_to_be_seen(&facts.process);
	seep_facts_done(&facts);
}

void seep_successor_look_at_dead(struct seep_successor *successor,
				 const struct ledger_header *ledger, uint32_t pid)
{
	struct seep_facts facts;

	look_at(&facts, ledger, pid);
	if (facts.process.exists && !successor->why)
		successor->why = why(&facts);
	if (facts.process.exists && !successor->name)
		successor->name = seep_xstrdup(facts.process.name);
	seep_facts_done(&facts);
}

void seep_successor_explain(const struct seep_successor *successor, struct seep_profile *profile)
{
	const char *before = profile->process.exe ? seep_path_base(profile->process.exe) : "";

	seep_profile_add_unseen(
		profile, "exec-unrecorded",
		"the process then called exec: this recording is of %s only; %s was not recorded: %s",
		*before ? before : "the first program",
		successor->name ? successor->name : "another program",
		successor->why ? successor->why
			       : "it made no ledger (LD_PRELOAD may be missing "
				 "in its environment, or its loader ignores it)");
}

void seep_successor_done(struct seep_successor *successor)
{
	free(successor->name);
	free(successor->why);
	*successor = (struct seep_successor){ 0 };
}

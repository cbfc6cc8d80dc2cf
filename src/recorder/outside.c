/* SPDX-License-Identifier: MIT */
#include "recorder/outside.h"

#include "base/path.h"
#include "base/texts.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/counted.h"
#include "target/allocators.h"
#include "target/entry_names.h"
#include "target/reasons.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAMES_MAX = 3,
	EXCESS_MIN_BYTES = 64 * 1024 * 1024,
};

void seep_outside_look(struct seep_outside *outside, uint32_t pid)
{
	int rc = pid ? seep_bindings_read(pid, &outside->bindings) : -SEEP_ESYS;

	/* What was seen of it before it ended is good. */
	outside->missed = rc == -SEEP_ENOTFOUND && !outside->looked;
	if (rc == -SEEP_ENOTFOUND)
		return;
	outside->looked = true;
	outside->refused = rc;
}

void seep_outside_look_at_children(struct seep_outside *outside, const struct ledger_header *ledger,
				   uint32_t pid)
{
	struct seep_finding reason;
	SEEP_RELEASED(seep_facts_done) struct seep_facts facts;

	seep_facts_init(&facts);
	facts.uid = ledger->uid;
	facts.process.is_ours = true;
	seep_facts_look_at_inherited(&facts, pid);
	if (seep_reasons_first(&facts, &reason)) {
		free(outside->children_why);
		outside->children_why = seep_xasprintf("%s; %s", reason.sentence, reason.advice);
	}
}

void seep_outside_sample(struct seep_outside *outside, const struct ledger_state *state,
			 uint64_t held, uint64_t anon_bytes)
{
	uint64_t own = atomic_load_explicit(&state->private_bytes, memory_order_relaxed);
	uint64_t peak = atomic_load_explicit(&state->peak_bytes, memory_order_relaxed);
	uint64_t known;

	outside->malloc_bytes = core_larger(outside->malloc_bytes, core_larger(held, peak));
	/* What was freed may still be malloc's: the most that it ever held is not outside. */
	known = outside->malloc_bytes + own;
	if (anon_bytes > known && anon_bytes - known > outside->excess_bytes) {
		outside->excess_bytes = anon_bytes - known;
		outside->anon_bytes = anon_bytes;
		outside->anon_malloc_bytes = outside->malloc_bytes;
	}
}

enum kind { PROGRAMS_MALLOC, PROGRAMS_OPERATORS, ELSEWHERE, BY_OTHER_NAMES, KIND_COUNT };

static enum kind kind_of(const struct seep_binding *binding)
{
	if (binding->function->kind == SEEP_ALLOCATION_PRIVATE)
		return BY_OTHER_NAMES;
	if (!binding->to_program)
		return ELSEWHERE;
	return binding->function->kind == SEEP_ALLOCATION_MALLOC ? PROGRAMS_MALLOC
								 : PROGRAMS_OPERATORS;
}

static const struct {
	const char *code;
	/* Around: the program or the callers; "function of module", or the callers. */
	const char *before, *between, *after;
} explanations[KIND_COUNT] = {
	[PROGRAMS_MALLOC] = { "own-allocator", "",
			      " has a malloc of its own, which comes before any other; its "
			      "allocations are not counted, nor those by ",
			      "" },
	[PROGRAMS_OPERATORS] = { "own-operators", "operator new and delete are those of ",
				 ", also for ",
				 "; the blocks that they allocate by malloc are counted" },
	[ELSEWHERE] = { SEEP_UNSEEN_ELSEWHERE, "calls of ", " bypass seep, such as those to ",
			" (RTLD_DEEPBIND, dlmopen or -Bsymbolic); what they allocate is not "
			"counted, and blocks of others that they free stay live" },
	[BY_OTHER_NAMES] = { SEEP_UNSEEN_PRIVATE, "",
			     " allocates by other names than malloc, such as ",
			     "; such blocks are not counted" },
};

/* Of an allocator in a module: what can be done about it, in a process that was attached to. */
static const char *advice_for(const struct seep_profile *profile, const char *allocator)
{
	return seep_profile_says(profile, "attached") && seep_entry_knows(allocator)
		       ? "; seep attach --entries records it, or says why not"
		       : "";
}

/* @callers: of functions that are bound like @first. */
static void explain_bindings(const struct seep_binding *first, const struct seep_texts *callers,
			     enum kind kind, struct seep_profile *profile)
{
	const bool of_program = kind == PROGRAMS_MALLOC || kind == PROGRAMS_OPERATORS;
	SEEP_FREED char *who = seep_texts_join(callers, ", ", NAMES_MAX);
	SEEP_FREED char *where = of_program ? seep_xstrdup(seep_path_base(first->to))
					    : seep_xasprintf("%s of %s", first->function->symbol,
							     seep_path_base(first->to));

	seep_profile_add_unseen(profile, explanations[kind].code, "%s%s%s%s%s%s",
				explanations[kind].before, of_program ? where : who,
				explanations[kind].between, of_program ? who : where,
				explanations[kind].after,
				kind == PROGRAMS_MALLOC ? advice_for(profile, "malloc") : "");
}

/* @allocator: which we call, and which does as it likes; that is how it allocates. */
static void look_through_bindings(const struct seep_outside *outside, const char *allocator,
				  enum kind kind, struct seep_profile *profile)
{
	/* What is called from outside is entered by its beginning, too. */
	const bool is_entered = seep_profile_says(profile, "entered-allocator");
	const struct seep_binding *first = NULL;
	SEEP_RELEASED(seep_texts_done) struct seep_texts callers = { 0 };

	for (size_t i = 0; i < outside->bindings.count; i++) {
		const struct seep_binding *binding = &outside->bindings.items[i];
		const char *name = seep_path_base(binding->from);

		if (is_entered && binding->to_program && kind != PROGRAMS_OPERATORS)
			continue;
		if (kind_of(binding) != kind || strcmp(binding->from, allocator) == 0 ||
		    (kind == BY_OTHER_NAMES && strcmp(binding->from, binding->to) == 0))
			continue;
		first = first ? first : binding;
		if (!seep_texts_have(&callers, name))
			seep_texts_take(&callers, seep_xstrdup(name));
	}
	if (first)
		explain_bindings(first, &callers, kind, profile);
}

/* Nothing that came by was passed over: what is missing went past us. */
static bool is_whole(const struct seep_profile *profile)
{
	return profile->process.mode == LEDGER_MODE_ALL && !seep_profile_says(profile, "filtered");
}

static bool explain_excess(const struct seep_outside *outside, struct seep_profile *profile)
{
	if (outside->excess_bytes <= EXCESS_MIN_BYTES ||
	    outside->excess_bytes <= outside->anon_bytes / 2)
		return false;
	seep_profile_add_unseen(
		profile, "outside-malloc",
		"%s of private memory were resident, but malloc had held at most %s: the rest is "
		"mapped by the program itself, such as the heap of a language's runtime",
		seep_bytes_text(outside->anon_bytes).text,
		seep_bytes_text(outside->anon_malloc_bytes).text);
	return true;
}

static void explain_children(const struct seep_outside *outside, struct seep_profile *profile)
{
	for (uint32_t i = 0; outside->children_why && i < profile->unseen_count; i++) {
		struct seep_profile_unseen *line = &profile->unseen[i];
		SEEP_FREED char *text = seep_xasprintf("%s: %s", line->detail,
						       outside->children_why);

		if (strcmp(line->code, "unrecorded-child") == 0)
			line->detail = seep_profile_strdup(profile, text);
	}
}

static void explain_manager(const struct seep_outside *outside, struct seep_profile *profile)
{
	const struct seep_memory_manager *manager = outside->bindings.manager;

	/* A collector that is called by names of its own has been named by them. */
	if (manager && !seep_profile_says(profile, SEEP_UNSEEN_PRIVATE))
		seep_profile_add_unseen(profile, "memory-manager", "%s%s%s", manager->sentence,
					*manager->advice ? "; " : "", manager->advice);
}

/* An allocator linked into the program under its own name has no GOT entries that would tell. */
static bool explain_names(struct seep_profile *profile)
{
	const char *name = seep_allocator_in(profile->process.exe);

	if (!name || seep_profile_says(profile, "entered-allocator"))
		return false;
	if (strcmp(name, "malloc") == 0) {
		seep_profile_add_unseen(profile, "own-allocator",
					"%s has a malloc of its own; its allocations are not "
					"counted%s",
					seep_path_base(profile->process.exe),
					advice_for(profile, name));
		return true;
	}
	seep_profile_add_unseen(
		profile, SEEP_UNSEEN_PRIVATE,
		"the program has an allocator linked in (%s); its blocks are not counted, only "
		"those that it allocates by malloc%s",
		name, advice_for(profile, name));
	return true;
}

void seep_outside_explain(const struct seep_outside *outside, struct seep_profile *profile)
{
	/* As the maps have it, behind all links. */
	SEEP_FREED char *allocator = realpath(profile->process.allocator, NULL);
	bool excess;

	for (enum kind kind = 0; kind < KIND_COUNT; kind++)
		/* Operators on a malloc that is not counted need no line of their own. */
		if (kind != PROGRAMS_OPERATORS || !seep_profile_says(profile, "own-allocator"))
			look_through_bindings(outside, allocator ? allocator : "", kind, profile);
	explain_manager(outside, profile);
	explain_children(outside, profile);
	excess = is_whole(profile) && explain_excess(outside, profile);
	if (!seep_profile_says(profile, "own-allocator") &&
	    !seep_profile_says(profile, SEEP_UNSEEN_PRIVATE) && !explain_names(profile) &&
	    !excess && seep_profile_counted(profile).allocs == 0 && is_whole(profile) &&
	    !seep_profile_is_void(profile))
		seep_profile_add_unseen(
			profile, "no-allocations",
			"malloc and operator new were not called: the program allocates nothing, "
			"or in ways that seep does not know");
	if (outside->refused)
		seep_profile_add_unseen(
			profile, "not-looked-at",
			"seep may not look into this process, so it would not notice "
			"calls that bypass it, or memory outside malloc");
	else if (outside->missed)
		seep_profile_add_unseen(
			profile, "not-looked-at",
			"it ended before seep could look into it, so calls that bypass seep would "
			"not have been noticed");
}

void seep_outside_done(struct seep_outside *outside)
{
	seep_bindings_done(&outside->bindings);
	free(outside->children_why);
	*outside = (struct seep_outside){ 0 };
}

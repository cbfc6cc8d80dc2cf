/* SPDX-License-Identifier: MIT */
#include "view/view_foot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank.h"
#include "base/path.h"
#include "base/units.h"
#include "base/xalloc.h"

enum { MODULES_NAMED = 3, UNSEEN_INDENT = 10, SKIPPED_SHOWN = 4 };

/* Counters that say something about the recording itself, unless a line about them is there. */
static void add_counters(struct seep_lines *lines, const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;
	const char *unknown = seep_profile_says(profile, "attached") ? "attached"
								     : "untracked-frees";
	const struct {
		const char *code;
		uint64_t count;
		const char *thing;
		const char *rest;
	} counters[] = {
		{ unknown, totals->untracked_frees, "free",
		  "of blocks whose allocation was not seen" },
		{ "missed-frees", totals->missed_frees, "block",
		  "counted as freed because their address was allocated again" },
		{ "dropped", totals->dropped, "allocation",
		  "counted without their stack: the ledger was full" },
		{ "in-doubt", totals->in_doubt, "operation",
		  "counted in part: the process died, or a signal handler left them" },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (counters[i].count > 0 && !seep_profile_says(profile, counters[i].code))
			seep_lines_add(lines, SEEP_STYLE_PLAIN, "Not seen: %s %s",
				       seep_things_text(counters[i].count, counters[i].thing).text,
				       counters[i].rest);
}

/* What is known of a module's code, in frames. */
struct module_names {
	uint32_t unnamed; /* without a function */
	uint32_t lines;	  /* with a line */
};

enum lack { LACKS_NAMES, LACKS_INLINED, LACKS_LINES, LACK_COUNT };

static const char *const lack_words[] = {
	[LACKS_NAMES] = "No names for code in",
	[LACKS_INLINED] = "Inlined functions are missing in",
	[LACKS_LINES] = "No lines for code in",
};

/* What @module lacks, or LACK_COUNT. */
static enum lack lack_of(const struct seep_profile *profile, uint32_t module,
			 const struct module_names *names)
{
	const struct seep_profile_module *m = &profile->modules[module];

	if (names->unnamed > 0)
		return LACKS_NAMES;
	if (m->problem == NULL)
		return LACK_COUNT;
	/* Names from the symbol table, lines from debug information of which a file is missing. */
	if (names->lines > 0)
		return LACKS_INLINED;
	/* Of the program only: most of the system's libraries are like that. */
	return m->path != NULL && profile->process.exe != NULL &&
			       strcmp(m->path, profile->process.exe) == 0
		       ? LACKS_LINES
		       : LACK_COUNT;
}

/* Modules that something was said of. */
struct listed {
	const char *paths[LACK_COUNT * MODULES_NAMED];
	size_t count;
	bool has_problem; /* one of them: its names were looked for */
	bool has_own;	  /* one of them is the user's, and may be built with -g */
};

/* The user's own, and readable: what is damaged or was replaced is built with -g perhaps. */
static bool may_be_rebuilt(const struct seep_profile_module *module)
{
	const char *path = module->path != NULL ? module->path : "/usr/";

	return strncmp(path, "/usr/", 5) != 0 && strncmp(path, "/lib", 4) != 0 &&
	       (module->problem == NULL ||
		strncmp(module->problem, "no debug information", 20) == 0);
}

/* @ranked: those with the most frames without a name first. */
static void add_lack(struct seep_view *view, const struct module_names *names,
		     const struct seep_ranked *ranked, enum lack lack, struct listed *listed)
{
	const struct seep_profile *profile = view->profile;
	unsigned named = 0;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	for (uint32_t i = 0; i < profile->module_count && named < MODULES_NAMED; i++) {
		const uint32_t module = ranked[i].index;
		const struct seep_profile_module *m = &profile->modules[module];

		if (lack_of(profile, module, &names[module]) != lack)
			continue;
		seep_strbuf_addf(&line, "%s %s", named++ ? "," : lack_words[lack],
				 m->path != NULL ? seep_path_base(m->path) : "?");
		if (m->problem != NULL)
			seep_strbuf_addf(&line, " (%s)", m->problem);
		listed->paths[listed->count++] = m->path;
		listed->has_problem |= m->problem != NULL;
		listed->has_own |= may_be_rebuilt(m);
	}
	if (line.length > 0)
		seep_lines_add(&view->foot, SEEP_STYLE_PLAIN, "%s", line.text);
}

/* "install libc6-dbg, bash-dbgsym": each package once; "" when none is known. */
static void list_packages(const struct seep_view *view, const struct listed *listed,
			  struct seep_strbuf *list)
{
	char *names[LACK_COUNT * MODULES_NAMED] = { 0 };

	if (view->options->packages_of == NULL)
		return;
	view->options->packages_of(listed->paths, listed->count, names);
	for (size_t i = 0; i < listed->count; i++) {
		bool again = names[i] == NULL;

		for (size_t k = 0; k < i && !again; k++)
			again = names[k] != NULL && strcmp(names[k], names[i]) == 0;
		if (!again)
			seep_strbuf_addf(list, "%s%s%s", list->length ? ", " : "install ", names[i],
					 strcmp(names[i], "libc6") == 0 ? "-dbg" : "-dbgsym");
	}
	for (size_t i = 0; i < listed->count; i++)
		free(names[i]);
}

/* How to get what is missing: by packages that are known to have it, and as always. */
static void add_remedy(struct seep_view *view, const struct listed *listed)
{
	SEEP_STRBUF(list, SEEP_LINE_BYTES_MAX);

	list_packages(view, listed, &list);
	seep_lines_add(&view->foot, SEEP_STYLE_PLAIN,
		       "To get them, %s%s%s%suse --debuginfod or --symbols=DIR",
		       listed->has_own ? "build with -g, " : "", list.text, list.length ? ", " : "",
		       listed->has_own || list.length ? "or " : "");
}

static void add_missing_names(struct seep_view *view)
{
	const struct seep_profile *profile = view->profile;
	const uint32_t count = profile->module_count;
	SEEP_FREED struct module_names *names = seep_xcalloc(count, sizeof(*names));
	SEEP_FREED struct seep_ranked *ranked = seep_xcalloc(count, sizeof(*ranked));
	struct listed listed = { .count = 0 };

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[i];

		if (frame->module == 0 || frame->module > count)
			continue;
		names[frame->module - 1].unnamed += frame->function == NULL;
		names[frame->module - 1].lines += frame->line > 0;
	}
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct seep_ranked){ .value = names[i].unnamed, .index = i };
	seep_rank_top(ranked, count, count);
	for (unsigned lack = 0; lack < LACK_COUNT; lack++)
		add_lack(view, names, ranked, (enum lack)lack, &listed);
	/* Where an imported one's were loaded is not known: only who recorded it could look. */
	if (listed.has_problem ||
	    (listed.count > 0 && !seep_profile_says(profile, SEEP_UNSEEN_IMPORTED)))
		add_remedy(view, &listed);
}

void seep_view_add_unseen(struct seep_view *view, size_t lines_max)
{
	const struct seep_profile *profile = view->profile;
	const struct seep_profile_verify *verify = &profile->totals.verify;
	struct seep_lines *foot = &view->foot;
	size_t start;
	size_t count;

	if (lines_max == 0)
		add_missing_names(view);
	start = foot->count;
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		seep_lines_add(foot, SEEP_STYLE_PLAIN, "Not seen: %s", profile->unseen[i].detail);
	add_counters(foot, profile);
	for (uint32_t i = 0; i < profile->scan.caveat_count; i++)
		seep_lines_add(foot, SEEP_STYLE_PLAIN, "Leak scan: %s", profile->scan.caveats[i]);
	count = foot->count - start;
	/* One line each, come what may; where there are few, a second one. */
	for (size_t i = start; i < foot->count; i++) {
		foot->items[i].indent = UNSEEN_INDENT;
		foot->items[i].cut = lines_max > 0 && 2 * count > lines_max;
	}
	if (lines_max > 0 && count > lines_max) {
		seep_lines_cut(foot, start + lines_max - 1);
		seep_lines_add(foot, SEEP_STYLE_PLAIN,
			       "Not seen: %zu more such lines in \"seep report\"",
			       count - lines_max + 1);
	}
	if (verify->asked)
		seep_lines_add(foot, SEEP_STYLE_PLAIN,
			       "Verified: %s walks compared with libgcc's, %s differed",
			       seep_digits_text(verify->walks).text,
			       seep_digits_text(verify->differences).text);
}

static void add_skipped(struct seep_lines *foot, const struct seep_profile_scan *scan)
{
	for (uint32_t i = 0; i < scan->skipped_count && i < SKIPPED_SHOWN; i++)
		seep_lines_add(foot, SEEP_STYLE_PLAIN,
			       "Leak scan: left out 0x%" PRIx64 " to 0x%" PRIx64 " (%s): %s",
			       scan->skipped[i].from, scan->skipped[i].to,
			       seep_bytes_text(scan->skipped[i].to - scan->skipped[i].from).text,
			       scan->skipped[i].reason ? scan->skipped[i].reason : "unreadable");
	if (scan->skipped_count > SKIPPED_SHOWN)
		seep_lines_add(
			foot, SEEP_STYLE_PLAIN, "Leak scan: %s left out",
			seep_things_text(scan->skipped_count - SKIPPED_SHOWN, "more range").text);
}

void seep_view_add_scan(struct seep_view *view)
{
	const struct seep_profile_scan *scan = &view->profile->scan;

	if (!scan->done)
		return;
	seep_lines_add(&view->foot, SEEP_STYLE_DIM,
		       "Leak scan (%s): %s, %s of memory in %s; the process stood still for %s",
		       scan->method ? scan->method : "?",
		       seep_things_text(scan->blocks, "live block").text,
		       seep_bytes_text(scan->marked_bytes).text,
		       seep_duration_text(scan->mark_ns).text,
		       seep_duration_text(scan->pause_ns).text);
	add_skipped(&view->foot, scan);
}

void seep_view_add_own(struct seep_view *view)
{
	const struct seep_profile *profile = view->profile;
	const struct seep_profile_totals *totals = &profile->totals;
	const struct seep_profile_forked *forked = &profile->forked;
	const uint32_t children = profile->process.child_count;
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);

	if (profile->within)
		return;
	if (forked->processes > 0)
		seep_strbuf_addf(
			&line,
			"%s forked child%s too small for a recording: %s, %s live when they "
			"ended. ",
			seep_digits_text(forked->processes).text,
			forked->processes == 1 ? "" : "ren",
			seep_things_text(forked->allocs, "allocation").text,
			seep_bytes_text(forked->live_bytes).text);
	if (children > 0)
		seep_strbuf_addf(&line, "%" PRIu32 " child%s recorded on %s own. ", children,
				 children == 1 ? "" : "ren", children == 1 ? "its" : "their");
	if (totals->usable_bytes > totals->live_bytes)
		seep_strbuf_addf(&line, "Allocator overhead of live blocks: %s. ",
				 seep_bytes_text(totals->usable_bytes - totals->live_bytes).text);
	if (profile->process.peak_rss_bytes > 0)
		seep_strbuf_addf(&line, "Largest resident set: %s. ",
				 seep_bytes_text(profile->process.peak_rss_bytes).text);
	if (!seep_profile_says(profile, SEEP_UNSEEN_IMPORTED))
		seep_strbuf_addf(&line, "seep's own memory:" SEEP_NO_BREAK "%s.",
				 seep_bytes_text(totals->own_bytes).text);
	if (line.length > 0)
		seep_lines_add(&view->foot, SEEP_STYLE_DIM, "%s", line.text);
}

void seep_view_add_next(struct seep_view *view, const struct seep_next_command *commands,
			size_t count)
{
	const char *path = view->options->path;
	SEEP_STRBUF(file, SEEP_LINE_BYTES_MAX);
	size_t widest = 0;

	/* These are about the whole again. */
	if (path == NULL || view->profile->within)
		return;
	if (path[0] == '-') /* no option */
		seep_strbuf_adds(&file, "./");
	seep_text_shell_word(&file, path);
	for (size_t i = 0; i < count; i++)
		if (strlen(commands[i].arguments) > widest)
			widest = strlen(commands[i].arguments);
	for (size_t i = 0; i < count; i++) {
		struct seep_line *line = seep_lines_add(
			&view->foot, SEEP_STYLE_PLAIN, "%s seep report %s%s",
			i == 0 ? "Next:" : "     ", file.text, commands[i].arguments);

		line->whole = true;
		line->remark = seep_xasprintf("%*s   # %s",
					      (int)(widest - strlen(commands[i].arguments)), "",
					      commands[i].shows);
	}
}

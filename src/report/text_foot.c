/* SPDX-License-Identifier: MIT */
#include "report/text_foot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/text_frame.h"
#include "report/text_style.h"

enum { MODULES_NAMED = 3 };

static bool has_unseen(const struct seep_profile *profile, const char *code)
{
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		if (strcmp(profile->unseen[i].code, code) == 0)
			return true;
	return false;
}

struct unseen_lines {
	char *line[64];
	size_t count;
};

static void add_unseen(struct unseen_lines *lines, char *line)
{
	if (lines->count < sizeof(lines->line) / sizeof(lines->line[0]))
		lines->line[lines->count++] = line;
	else
		free(line);
}

/* Counters that say something about the account itself, unless a line about them is there. */
static void collect_counters(struct unseen_lines *lines, const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;
	const struct {
		const char *code;
		uint64_t count;
		const char *sentence;
	} counters[] = {
		{ "untracked-frees", totals->untracked_frees,
		  "frees of blocks whose allocation was not seen" },
		{ "missed-frees", totals->missed_frees,
		  "blocks whose free was not seen; they were closed when their address came again" },
		{ "dropped", totals->dropped,
		  "allocations counted without their stack: tables full" },
		{ "in-doubt", totals->in_doubt,
		  "operations in doubt: it died in the middle of them" },
		{ "early-allocs", totals->early_allocs, "allocations before the account began" },
		{ "unrecorded-child", totals->unrecorded_children, "children were not recorded" },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (counters[i].count > 0 && !has_unseen(profile, counters[i].code))
			add_unseen(lines,
				   seep_xasprintf("%s %s", seep_digits_text(counters[i].count).text,
						  counters[i].sentence));
}

/* What is known of a module's code, in frames. */
struct module_names {
	uint32_t unnamed; /* without a function */
	uint32_t lines;	  /* with a line */
};

/* Names from the symbol table, lines from debug information of which a file is missing. */
static bool lacks_inlined(const struct seep_profile_module *module,
			  const struct module_names *names)
{
	return module->problem != NULL && names->unnamed == 0 && names->lines > 0;
}

/* Of the program only: most of the system's libraries are like that. */
static bool lacks_lines(const struct seep_profile *profile,
			const struct seep_profile_module *module, const struct module_names *names)
{
	return module->problem != NULL && names->unnamed == 0 && names->lines == 0 &&
	       module->path != NULL && profile->process.exe != NULL &&
	       strcmp(module->path, profile->process.exe) == 0;
}

static void add_module(struct seep_strbuf *line, const char *what,
		       const struct seep_profile_module *module)
{
	seep_strbuf_adds(line, line->length == 0 ? what : ", ");
	seep_escapes(line, module->path != NULL ? seep_path_base(module->path) : "?");
	if (module->problem == NULL)
		return;
	seep_strbuf_adds(line, " (");
	seep_escapes(line, module->problem);
	seep_strbuf_addc(line, ')');
}

static void end_line(FILE *out, const struct seep_report_options *options, struct seep_strbuf *line)
{
	if (line->length > 0)
		seep_text_fold(out, options, SEEP_STYLE_PLAIN, 0, 2, line->text);
	seep_strbuf_done(line);
}

/* The modules with the most frames that have no name, and why. */
static void print_unnamed(FILE *out, const struct seep_profile *profile,
			  const struct seep_report_options *options, struct module_names *names)
{
	struct seep_strbuf line;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	for (unsigned n = 0; n < MODULES_NAMED; n++) {
		uint32_t most = 0;

		for (uint32_t i = 1; i <= profile->module_count; i++)
			if (names[i].unnamed > 0 &&
			    (most == 0 || names[i].unnamed > names[most].unnamed))
				most = i;
		if (most == 0)
			break;
		names[most].unnamed = 0;
		add_module(&line, "No names for code in ", &profile->modules[most - 1]);
	}
	end_line(out, options, &line);
}

/* Modules whose code has names, but not all that debug information would tell. */
static void print_half_known(FILE *out, const struct seep_profile *profile,
			     const struct seep_report_options *options,
			     const struct module_names *names)
{
	struct seep_strbuf inlined;
	struct seep_strbuf lines;
	unsigned named = 0;

	seep_strbuf_init(&inlined, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&lines, SEEP_LINE_BYTES_MAX);
	for (uint32_t i = 1; i <= profile->module_count; i++) {
		const struct seep_profile_module *module = &profile->modules[i - 1];

		if (lacks_inlined(module, &names[i]) && named++ < MODULES_NAMED)
			add_module(&inlined, "Inlined functions are missing in ", module);
		else if (lacks_lines(profile, module, &names[i]))
			add_module(&lines, "No lines for code in ", module);
	}
	end_line(out, options, &inlined);
	end_line(out, options, &lines);
}

static void print_missing_names(FILE *out, const struct seep_profile *profile,
				const struct seep_report_options *options)
{
	struct module_names *names = seep_xcalloc((size_t)profile->module_count + 1,
						  sizeof(*names));

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[i];

		if (frame->module > profile->module_count)
			continue;
		names[frame->module].unnamed += frame->function == NULL;
		names[frame->module].lines += frame->line > 0;
	}
	print_half_known(out, profile, options, names);
	print_unnamed(out, profile, options, names);
	free(names);
}

void seep_foot_unseen(FILE *out, const struct seep_profile *profile,
		      const struct seep_report_options *options, size_t lines_max)
{
	struct unseen_lines lines = { .count = 0 };
	size_t shown;

	for (uint32_t i = 0; i < profile->unseen_count; i++)
		add_unseen(&lines, seep_escape_dup(profile->unseen[i].detail));
	collect_counters(&lines, profile);
	if (lines_max == 0)
		print_missing_names(out, profile, options);
	shown = lines.count;
	if (lines_max > 0 && lines.count > lines_max)
		shown = lines_max - 1;
	for (size_t i = 0; i < shown; i++) {
		/* One line each, come what may; where there are few, a second one. */
		if (lines_max > 0 && 2 * lines.count > lines_max) {
			struct seep_strbuf line;

			seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
			seep_text_fit(&line, lines.line[i],
				      options->width > 10 ? options->width - 10 : 0, false);
			fprintf(out, "Not seen: %s\n", line.text);
			seep_strbuf_done(&line);
		} else {
			char *line = seep_xasprintf("Not seen: %s", lines.line[i]);

			seep_text_fold(out, options, SEEP_STYLE_PLAIN, 0, 10, line);
			free(line);
		}
	}
	if (shown < lines.count)
		fprintf(out, "Not seen: %zu more such lines in \"seep report\"\n",
			lines.count - shown);
	for (size_t i = 0; i < lines.count; i++)
		free(lines.line[i]);
	if (profile->totals.verify.asked)
		fprintf(out, "Verified: %s walks compared with libgcc's, %s differed\n",
			seep_digits_text(profile->totals.verify.walks).text,
			seep_digits_text(profile->totals.verify.differences).text);
}

void seep_foot_own(FILE *out, const struct seep_profile *profile,
		   const struct seep_report_options *options)
{
	const struct seep_profile_totals *totals = &profile->totals;
	const struct seep_profile_forked *forked = &profile->forked;
	struct seep_strbuf line;

	seep_strbuf_init(&line, SEEP_LINE_BYTES_MAX);
	if (forked->processes > 0)
		seep_strbuf_addf(&line,
				 "%s forked child%s too small for a recording: %s allocations, "
				 "%s live at their ends. ",
				 seep_digits_text(forked->processes).text,
				 forked->processes == 1 ? "" : "ren",
				 seep_count_text(forked->allocs).text,
				 seep_bytes_text(forked->live_bytes).text);
	if (profile->process.child_count > 0)
		seep_strbuf_addf(&line, "%" PRIu32 " child%s recorded on %s own. ",
				 profile->process.child_count,
				 profile->process.child_count == 1 ? "" : "ren",
				 profile->process.child_count == 1 ? "its" : "their");
	if (totals->usable_bytes > totals->live_bytes)
		seep_strbuf_addf(&line, "Allocator's rounding of live blocks: %s. ",
				 seep_bytes_text(totals->usable_bytes - totals->live_bytes).text);
	if (profile->process.peak_rss_bytes > 0)
		seep_strbuf_addf(&line, "Largest resident set: %s. ",
				 seep_bytes_text(profile->process.peak_rss_bytes).text);
	seep_strbuf_addf(&line, "seep's own memory:" SEEP_NO_BREAK "%s.",
			 seep_bytes_text(totals->own_bytes).text);
	seep_text_fold(out, options, SEEP_STYLE_DIM, 0, 2, line.text);
	seep_strbuf_done(&line);
}

void seep_foot_next(FILE *out, const struct seep_report_options *options,
		    const struct seep_next_command *commands, size_t count)
{
	struct seep_strbuf file;
	size_t widest = 0;
	size_t shows = 0;
	bool comments;

	if (options->path == NULL)
		return;
	seep_strbuf_init(&file, SEEP_LINE_BYTES_MAX);
	if (options->path[0] == '-') /* no option */
		seep_strbuf_adds(&file, "./");
	seep_text_shell_word(&file, options->path);
	for (size_t i = 0; i < count; i++) {
		if (strlen(commands[i].arguments) > widest)
			widest = strlen(commands[i].arguments);
		if (strlen(commands[i].shows) > shows)
			shows = strlen(commands[i].shows);
	}
	comments = options->width == 0 ||
		   strlen("Next: seep report ") + seep_display_width(file.text, file.length) +
				   widest + strlen("   # ") + shows <=
			   options->width;
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s seep report %s%s", i == 0 ? "Next:" : "     ", file.text,
			commands[i].arguments);
		if (comments)
			fprintf(out, "%*s   %s# %s%s",
				(int)(widest - strlen(commands[i].arguments)), "",
				seep_style_on(options, SEEP_STYLE_DIM), commands[i].shows,
				seep_style_off(options, SEEP_STYLE_DIM));
		fputc('\n', out);
	}
	seep_strbuf_done(&file);
}

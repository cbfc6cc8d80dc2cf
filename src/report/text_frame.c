/* SPDX-License-Identifier: MIT */
#include "report/text_frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold.h"
#include "analysis/function_name.h"
#include "base/path.h"
#include "base/terminal.h"
#include "report/text_style.h"

const char *seep_frame_module_path(const struct seep_profile *profile,
				   const struct seep_profile_frame *frame)
{
	if (frame->module == 0 || frame->module > profile->module_count)
		return NULL;
	return profile->modules[frame->module - 1].path;
}

/* Copy @name with the insides of its outermost angle brackets as "…". */
static void add_without_arguments(struct seep_strbuf *buf, const char *name, size_t bytes)
{
	unsigned depth = 0;

	for (size_t i = 0; i < bytes; i++) {
		/* operator<, operator<<, operator->: not brackets; the rest is short anyway. */
		if (depth == 0 && bytes - i > 8 && memcmp(name + i, "operator", 8) == 0 &&
		    strchr("<>-", name[i + 8]) != NULL) {
			seep_strbuf_add(buf, name + i, bytes - i);
			return;
		}
		if (name[i] == '<' && depth++ == 0) {
			/* Rust's "<T as Trait>::f" would lose everything: keep a leading one. */
			if (i == 0) {
				seep_strbuf_add(buf, name, bytes);
				return;
			}
			seep_strbuf_adds(buf, "<…>");
		}
		if (depth == 0)
			seep_strbuf_addc(buf, name[i]);
		if (name[i] == '>' && depth > 0 && name[i - 1] != '-')
			depth--;
	}
}

static void add_function(struct seep_strbuf *buf, const char *function, size_t columns, bool full)
{
	char *brief = full ? NULL : seep_function_short_name(function);
	const char *name = full ? function : brief;
	struct seep_strbuf whole;
	struct seep_strbuf shown;

	seep_strbuf_init(&whole, SEEP_LINE_BYTES_MAX);
	seep_strbuf_init(&shown, SEEP_LINE_BYTES_MAX);
	if (columns > 0 && strlen(name) > columns)
		add_without_arguments(&whole, name, strlen(name));
	else
		seep_strbuf_adds(&whole, name);
	seep_escape(&shown, whole.text, whole.length);
	seep_text_fit(buf, shown.text, columns, false);
	seep_strbuf_done(&shown);
	seep_strbuf_done(&whole);
	free(brief);
}

void seep_frame_name(struct seep_strbuf *buf, const struct seep_profile *profile,
		     const struct seep_profile_frame *frame, size_t columns, bool full)
{
	const char *path = seep_frame_module_path(profile, frame);
	struct seep_strbuf text;

	if (columns == 0 && !full)
		columns = SEEP_NAME_COLUMNS_MAX;
	if (frame->function != NULL) {
		add_function(buf, frame->function, columns, full);
		return;
	}
	seep_strbuf_init(&text, SEEP_LINE_BYTES_MAX);
	if (path != NULL) {
		path = full ? path : seep_path_base(path);
		seep_escapes(&text, path);
		seep_strbuf_adds(&text, " + ");
	}
	seep_strbuf_addf(&text, "0x%" PRIx64, frame->address);
	seep_text_fit(buf, text.text, columns, true);
	seep_strbuf_done(&text);
}

static const char *below(const char *path, const char *directory)
{
	size_t bytes;

	if (directory == NULL)
		return path;
	bytes = strlen(directory);
	if (bytes < 2 || strncmp(path, directory, bytes) != 0 || path[bytes] != '/')
		return path;
	return path + bytes + 1;
}

void seep_frame_place(struct seep_strbuf *buf, const struct seep_profile *profile,
		      const struct seep_profile_frame *frame, size_t columns, bool line)
{
	const char *module = seep_frame_module_path(profile, frame);
	struct seep_strbuf text;

	seep_strbuf_init(&text, SEEP_LINE_BYTES_MAX);
	if (frame->file != NULL) {
		const char *file = below(frame->file, profile->process.cwd);

		seep_escapes(&text, file);
		if (line && frame->line > 0)
			seep_strbuf_addf(&text, ":%" PRIu32, frame->line);
	} else if (frame->function != NULL && module != NULL) {
		module = seep_path_base(module);
		seep_escapes(&text, module);
	}
	seep_text_fit(buf, text.text, columns, true);
	seep_strbuf_done(&text);
}

void seep_frame_repeats(struct seep_strbuf *buf, unsigned period, unsigned repeats)
{
	const bool bound = (period & SEEP_FOLD_BOUND) != 0;

	period &= ~(unsigned)SEEP_FOLD_BOUND;
	if (period == 0)
		return;
	/* It stands here once and was met again so often. */
	if (repeats == SEEP_FOLD_REPEATS_MAX)
		seep_strbuf_addf(buf, "×%u+", repeats + 1);
	else
		seep_strbuf_addf(buf, "×%s%u", bound ? "≤" : "", repeats + 1);
	if (period > 1)
		seep_strbuf_addf(buf, " (period %u)", period);
}

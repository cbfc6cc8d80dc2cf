/* SPDX-License-Identifier: MIT */
#include "view/frame_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/fold.h"
#include "analysis/function_name.h"
#include "analysis/runtime_blocks.h"
#include "base/path.h"

enum { NAME_BYTES_MAX = 500, SHORT_BYTES_MAX = 160 };

char *seep_frame_name(const struct seep_profile *profile, const struct seep_profile_frame *frame,
		      enum seep_name_form form)
{
	const char *path = seep_profile_frame_path(profile, frame);
	char *name;

	if (form != SEEP_NAME_WHOLE && seep_runtime_is_pool(profile, frame))
		return seep_xstrdup("C++ emergency pool");
	if (frame->function == NULL && path == NULL)
		return seep_xasprintf("0x%" PRIx64, frame->address);
	if (frame->function == NULL)
		return seep_xasprintf("%s + 0x%" PRIx64,
				      form == SEEP_NAME_WHOLE ? path : seep_path_base(path),
				      frame->address);
	if (form == SEEP_NAME_WHOLE)
		return seep_xstrdup(frame->function);
	name = seep_function_short_name(frame->function, frame->file);
	if (form == SEEP_NAME_BRIEF || strlen(name) > SHORT_BYTES_MAX) {
		SEEP_FREED char *short_name = name;

		name = seep_function_brief_name(short_name);
	}
	if (strlen(name) > NAME_BYTES_MAX) {
		size_t end = NAME_BYTES_MAX - 3;

		while (end > 0 && (name[end] & 0xc0) == 0x80) /* not inside a character */
			end--;
		strcpy(name + end, "…");
	}
	return name;
}

/* @path below @directory; or, of Rust's own library, below its build's. */
static const char *below(const char *path, const char *directory)
{
	const size_t bytes = directory != NULL ? strlen(directory) : 0;
	const char *rust = strncmp(path, "/rustc/", 7) == 0 ? strchr(path + 7, '/') : NULL;

	if (bytes >= 2 && strncmp(path, directory, bytes) == 0 && path[bytes] == '/')
		return path + bytes + 1;
	return rust != NULL ? rust + 1 : path;
}

char *seep_frame_place(const struct seep_profile *profile, const struct seep_profile_frame *frame,
		       bool line)
{
	const char *module = seep_profile_frame_path(profile, frame);
	const char *file = frame->file;

	if (file != NULL && line && frame->line > 0)
		return seep_xasprintf("%s:%" PRIu32, below(file, profile->process.cwd),
				      frame->line);
	if (file != NULL)
		return seep_xstrdup(below(file, profile->process.cwd));
	return seep_xstrdup(frame->function != NULL && module != NULL ? seep_path_base(module)
								      : "");
}

char *seep_frame_repeats(const struct seep_profile_stack_entry *entry)
{
	char period[32] = "";

	if (entry->period == 0 || entry->repeats == 0)
		return seep_xstrdup("");
	if (entry->period > 1)
		(void)snprintf(period, sizeof(period), " (period %u)", entry->period);
	/* It stands here once and was met again so often. */
	return seep_xasprintf(" ×%u%s%s", entry->repeats + 1u,
			      entry->repeats == SEEP_FOLD_REPEATS_MAX ? "+" : "", period);
}

/* SPDX-License-Identifier: MIT */
#include "recorder/child_names.h"

#include "base/xalloc.h"
#include "recorder/outname.h"

#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_names(const void *left, const void *right)
{
	return strcmp(left, right);
}

char *seep_child_names_take(struct seep_child_names *names, const char *output, bool force,
			    const struct seep_image *image)
{
	const char *exe = image->is_fork ? NULL : image->exe;
	char *path = NULL;
	bool taken = true;

	for (unsigned number = 1; taken && number < UINT_MAX; number++) {
		free(path);
		path = seep_outname_child(output, image->pid, exe, number);
		taken = tfind(path, &names->taken, compare_names) != NULL ||
			(!force && access(path, F_OK) == 0);
	}
	if (!tsearch(seep_xstrdup(path), &names->taken, compare_names))
		abort();
	return path;
}

void seep_child_names_give_back(struct seep_child_names *names, const char *name)
{
	char **found = tfind(name, &names->taken, compare_names);
	char *kept;

	if (!found)
		return;
	kept = *found;
	(void)tdelete(name, &names->taken, compare_names);
	free(kept);
}

void seep_child_names_done(struct seep_child_names *names)
{
	tdestroy(names->taken, free);
	names->taken = NULL;
}

/* SPDX-License-Identifier: MIT */
#include "profile/row_owner.h"

#include "base/xalloc.h"
#include "profile/ledger_load.h"

#include <stdlib.h>
#include <string.h>

struct seep_lineage {
	char *folder; /* with its last slash, or "" */
	const struct seep_profile *profile;
	struct seep_profile *loaded; /* NULL: the caller's */
	struct seep_lineage *parent; /* NULL: not asked for */
};

struct seep_lineage *seep_lineage_new(const char *path, const struct seep_profile *profile)
{
	struct seep_lineage *lineage = seep_xcalloc(1, sizeof(*lineage));
	const char *slash = strrchr(path, '/');

	lineage->folder = seep_xstrndup(path, slash ? (size_t)(slash - path) + 1 : 0);
	lineage->profile = profile;
	return lineage;
}

void seep_lineage_free(struct seep_lineage *lineage)
{
	while (lineage) {
		struct seep_lineage *parent = lineage->parent;

		seep_profile_free(lineage->loaded);
		free(lineage->folder);
		free(lineage);
		lineage = parent;
	}
}

/* What a ledger says of its parent is as hostile as the rest: a name alone, and an older ledger. */
static int load_parent(struct seep_lineage *child, struct seep_error *err)
{
	const char *name = child->profile->process.parent_ledger;
	struct seep_profile *profile;
	char *path;
	int r;

	if (!name)
		return seep_fail(err, SEEP_ENOTFOUND, "no parent has rows for this process");
	if (strchr(name, '/'))
		return seep_fail(err, SEEP_ECORRUPT, "the parent's ledger has no file name");
	path = seep_xasprintf("%s%s", child->folder, name);
	r = seep_profile_load_ledger(path, false, &profile, err);
	/* Ids begin lower from child to parent, so a circle comes to an end. */
	if (r == 0 && profile->first_row >= child->profile->first_row) {
		seep_profile_free(profile);
		r = seep_fail(err, SEEP_ECORRUPT, "%s is not the ledger of a parent", path);
	}
	if (r == 0) {
		child->parent = seep_lineage_new(path, profile);
		child->parent->loaded = profile;
	}
	free(path);
	return r;
}

const struct seep_profile_context *seep_lineage_context(struct seep_lineage *lineage, uint32_t row,
							const struct seep_profile **ret_profile,
							struct seep_error *err)
{
	const struct seep_profile *profile;
	uint32_t place;

	while (row < lineage->profile->first_row) {
		if (row >= lineage->profile->parent_rows_end) {
			(void)seep_fail(err, SEEP_ENOTFOUND,
					"of an ancestor that allocated too little for a ledger");
			return NULL;
		}
		if (!lineage->parent && load_parent(lineage, err) < 0)
			return NULL;
		lineage = lineage->parent;
	}
	profile = lineage->profile;
	row -= profile->first_row;
	place = row < profile->row_count ? profile->rows[row] : 0;
	if (place == 0) {
		(void)seep_fail(err, SEEP_ENOTFOUND, "the row counts nothing");
		return NULL;
	}
	*ret_profile = profile;
	return &profile->contexts[place - 1];
}

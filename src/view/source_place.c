/* SPDX-License-Identifier: MIT */
#include "view/source_place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/xalloc.h"

int seep_source_root_find(struct seep_source_root *root, const char *folder, struct seep_error *err)
{
	const char *named = folder ? folder : getenv("PWD");

	*root = (struct seep_source_root){ .paths = {
						   [1] = realpath(folder ? folder : ".", NULL) } };
	if (!root->paths[1])
		return seep_fail_errno(err, errno, "the source root %s", folder ? folder : ".");
	/* Compilers write the name that the shell had, which may lead through links. */
	if (named && named[0] == '/' && seep_path_is_same_file(named, root->paths[1]))
		root->paths[0] = seep_path_normal(named);
	return 0;
}

void seep_source_root_done(struct seep_source_root *root)
{
	free(root->paths[0]);
	free(root->paths[1]);
}

/* What follows @root in @path; NULL: it is not below. */
static const char *below(const char *path, const char *root)
{
	const size_t bytes = root ? strlen(root) : 0;

	if (bytes == 0 || strncmp(path, root, bytes) != 0)
		return NULL;
	if (root[bytes - 1] == '/')
		return path + bytes;
	return path[bytes] == '/' ? path + bytes + 1 : NULL;
}

struct seep_source_place seep_source_place(const struct seep_source_root *root,
					   const struct seep_profile *profile,
					   const struct seep_profile_frame *frame)
{
	const char *module = seep_profile_frame_path(profile, frame);
	struct seep_source_place place = { .frame = frame };
	const char *inside = NULL;
	char *path;

	if (!frame->file) {
		place.path = module ? seep_xstrdup(module) : NULL;
		return place;
	}
	path = seep_path_normal(frame->file);
	for (int i = 0; i < 2 && !inside; i++)
		inside = below(path, root->paths[i]);
	/* Builds that leave the folder out (-ffile-prefix-map) name files so. */
	if (path[0] != '/' && !seep_begins_with(path, "../"))
		inside = path;
	place.path = seep_xstrdup(inside ? inside : path);
	place.line = frame->line;
	place.is_inside = inside != NULL;
	free(path);
	return place;
}

struct seep_source_place seep_source_place_of(const struct seep_source_root *root,
					      const struct seep_sites *sites,
					      const struct seep_profile_context *context)
{
	const struct seep_profile *profile = sites->profile;
	uint32_t first = 0, end = 0;

	if (context)
		seep_sites_trim(sites, context->stack, context->stack_count, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		struct seep_source_place place =
			seep_source_place(root, profile, &profile->frames[context->stack[i].frame]);

		if (place.is_inside)
			return place;
		seep_source_place_done(&place);
	}
	return first < end ? seep_source_place(root, profile,
					       &profile->frames[context->stack[first].frame])
			   : (struct seep_source_place){ 0 };
}

void seep_source_place_done(struct seep_source_place *place)
{
	free(place->path);
}

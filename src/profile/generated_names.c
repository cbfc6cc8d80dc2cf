/* SPDX-License-Identifier: MIT */
#include "profile/generated_names.h"

#include "base/xalloc.h"
#include "profile/profile.h"
#include "symbol/perf_map.h"

#include <stdlib.h>

/* Of the call, where the frame is a return. */
static uint64_t address_of(const struct seep_profile_frame *frame)
{
	return frame->exact ? frame->address : frame->address - 1;
}

static int by_address(const void *a, const void *b)
{
	uint64_t left = address_of(*(struct seep_profile_frame *const *)a);
	uint64_t right = address_of(*(struct seep_profile_frame *const *)b);

	return (left > right) - (left < right);
}

static size_t collect(struct seep_profile *profile, struct seep_profile_frame **unnamed)
{
	size_t count = 0;

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		struct seep_profile_frame *frame = &profile->frames[i];

		if (frame->module == 0 && !frame->function && frame->address > 0)
			unnamed[count++] = frame;
	}
	qsort(unnamed, count, sizeof(*unnamed), by_address);
	return count;
}

static void give_names(struct seep_profile *profile, struct seep_profile_frame **unnamed,
		       size_t count, char *const *names)
{
	struct seep_profile_module *module = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!names[i])
			continue;
		if (!module) {
			module = seep_profile_add(profile, SEEP_ARRAY_MODULES);
			module->path = seep_profile_strdup(profile, SEEP_GENERATED_MODULE);
		}
		unnamed[i]->module = profile->module_count;
		unnamed[i]->function = seep_profile_strdup(profile, names[i]);
	}
	for (uint32_t i = 0; i < profile->context_count && module; i++)
		profile->contexts[i].hash = 0;
}

int seep_profile_name_generated(struct seep_profile *profile, int fd, struct seep_error *err)
{
	const size_t room = (size_t)profile->frame_count + 1;
	struct seep_profile_frame **unnamed = seep_xcalloc(room, sizeof(*unnamed));
	uint64_t *addresses = seep_xcalloc(room, sizeof(*addresses));
	char **names = seep_xcalloc(room, sizeof(char *));
	size_t count = collect(profile, unnamed);
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		addresses[i] = address_of(unnamed[i]);
	if (count > 0)
		rc = seep_perf_map_read(fd, addresses, count, names, err);
	give_names(profile, unnamed, count, names);
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	free(addresses);
	free(unnamed);
	return rc;
}

/* SPDX-License-Identifier: MIT */
#include "profile/generated_names.h"

#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "profile/profile.h"
#include "symbol/perf_map.h"

#include <stdlib.h>
#include <string.h>

/* An address that has no name, and where it is wanted. */
struct wanted {
	uint64_t address;
	uint32_t frame;
};

static int by_address(const void *a, const void *b)
{
	const struct wanted *left = a;
	const struct wanted *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static size_t collect(const struct seep_profile *profile, struct wanted *wanted)
{
	size_t count = 0;

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[i];

		if (frame->module == 0 && !frame->function && frame->address > 0)
			wanted[count++] = (struct wanted){
				.address = frame->exact ? frame->address : frame->address - 1,
				.frame = i,
			};
	}
	qsort(wanted, count, sizeof(*wanted), by_address);
	return count;
}

/* Returns its number, index + 1. */
static uint32_t add_module(struct seep_profile *profile)
{
	struct seep_profile_module *module = seep_profile_add(profile, SEEP_ARRAY_MODULES);

	module->path = seep_profile_strdup(profile, SEEP_GENERATED_MODULE);
	return profile->module_count;
}

static void give_names(struct seep_profile *profile, const struct wanted *wanted, size_t count,
		       char *const *names)
{
	uint32_t module = 0;

	for (size_t i = 0; i < count; i++) {
		struct seep_profile_frame *frame = &profile->frames[wanted[i].frame];

		if (!names[i])
			continue;
		if (module == 0)
			module = add_module(profile);
		frame->module = module;
		frame->function = seep_profile_strdup(profile, names[i]);
	}
	for (uint32_t i = 0; i < profile->context_count && module != 0; i++)
		profile->contexts[i].hash = 0;
	seep_profile_hash_contexts(profile);
}

int seep_profile_name_generated(struct seep_profile *profile, int fd, struct seep_error *err)
{
	struct wanted *wanted = seep_xcalloc((size_t)profile->frame_count + 1, sizeof(*wanted));
	size_t count = collect(profile, wanted);
	uint64_t *addresses = seep_xcalloc(count + 1, sizeof(*addresses));
	char **names = seep_xcalloc(count + 1, sizeof(char *));
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		addresses[i] = wanted[i].address;
	if (count > 0)
		rc = seep_perf_map_read(fd, addresses, count, names, err);
	give_names(profile, wanted, count, names);
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	free(addresses);
	free(wanted);
	return rc;
}

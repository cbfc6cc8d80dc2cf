/* SPDX-License-Identifier: MIT */
#include "import/import.h"

#include "base/decode.h"
#include "base/path.h"
#include "base/units.h"
#include "import/fold_recursion.h"
#include "import/import_heaptrack.h"
#include "import/import_jemalloc.h"
#include "import/import_pprof.h"
#include "profile/builder.h"
#include "profile/profile_check.h"

#include <stdlib.h>
#include <string.h>

/* Further in, a function of such a name is the program's own. */
enum { ALLOCATOR_FRAMES_MAX = 32 };

/* Any text is hardly a pprof profile, but any bytes may be. */
const struct seep_importer *const seep_importers[] = {
	&seep_import_jemalloc,
	&seep_import_heaptrack,
	&seep_import_pprof,
	NULL,
};

const char *const seep_importer_names[] = { "jemalloc", "heaptrack", "pprof", NULL };

const struct seep_importer *seep_importer_detect(const void *data, size_t bytes)
{
	struct seep_decoder *decoder = seep_decoder_new(data, bytes, UINT64_MAX);
	uint8_t head[SEEP_IMPORT_HEAD_BYTES];
	size_t got = 0;

	/* What came before a damaged place, or the end of what was read, is still there. */
	(void)!seep_decoder_read(decoder, head, sizeof(head), &got, NULL);
	seep_decoder_free(decoder);
	for (size_t i = 0; seep_importers[i]; i++)
		if (seep_importers[i]->detects(head, got))
			return seep_importers[i];
	return NULL;
}

int seep_import(const struct seep_importer *importer, const void *data, size_t bytes,
		struct seep_profile **ret_profile, struct seep_error *err)
{
	struct seep_decoder *decoder = seep_decoder_new(data, bytes, importer->max_bytes);
	struct seep_builder builder;
	struct seep_profile *profile;
	int r;

	seep_builder_init(&builder, bytes);
	profile = builder.profile;
	seep_profile_add_unseen(profile, SEEP_UNSEEN_IMPORTED,
				"imported from a %s profile, which does not say %s", importer->name,
				importer->lacks);
	profile->scan.why_not = seep_profile_strdup(profile, "the profile was imported");
	r = importer->read(decoder, &builder, err);
	if (r == 0) {
		seep_builder_finish(&builder);
		if (!seep_profile_sum(profile, &profile->totals))
			r = seep_fail(err, SEEP_ELIMIT, "its figures sum to over 2^64");
	}
	if (r == 0)
		r = seep_profile_check(profile, err);
	if (r == 0)
		*ret_profile = seep_builder_take(&builder);
	seep_builder_done(&builder);
	seep_decoder_free(decoder);
	return r;
}

uint32_t seep_import_module(struct seep_profile *profile, const char *path, uint64_t start,
			    uint64_t end, uint64_t file_offset)
{
	const uint64_t bias = start - file_offset;
	struct seep_profile_module *module = profile->module_count
						     ? &profile->modules[profile->module_count - 1]
						     : NULL;

	if (module && module->bias == bias && strcmp(module->path, path) == 0) {
		module->end = end;
		return profile->module_count;
	}
	module = seep_profile_add(profile, SEEP_ARRAY_MODULES);
	*module = (struct seep_profile_module){
		.path = seep_profile_strdup(profile, path),
		.bias = bias,
		.by_place = true,
		.start = start,
		.end = end,
	};
	return profile->module_count;
}

static void raise_to(uint64_t *allocated, uint64_t live, bool *raised)
{
	if (*allocated >= live)
		return;
	*allocated = live;
	*raised = true;
}

void seep_import_add(struct seep_builder *builder, const struct seep_import_figures *figures,
		     uint32_t piece, uint64_t *mended)
{
	struct seep_profile_context *context = seep_profile_add(builder->profile,
								SEEP_ARRAY_CONTEXTS);
	bool raised = false;

	context->id = builder->profile->context_count;
	context->no_stack = piece == 0;
	context->allocs = figures->allocs;
	context->alloc_bytes = figures->alloc_bytes;
	raise_to(&context->allocs, figures->live_blocks, &raised);
	raise_to(&context->alloc_bytes, figures->live_bytes, &raised);
	*mended += raised;
	context->live_blocks = figures->live_blocks;
	context->live_bytes = figures->live_bytes;
	context->frees = context->allocs - context->live_blocks;
	context->freed_bytes = context->alloc_bytes - context->live_bytes;
	seep_builder_stack(builder, context, piece);
}

void seep_import_tell(struct seep_profile *profile, struct seep_import_knowledge known)
{
	profile->totals.peak_exact = known.peak;
	if (!known.peak)
		seep_profile_add_unseen(profile, SEEP_UNSEEN_ONE_MOMENT,
					"the profile is of one moment: the peak, temporary "
					"allocations and growth are not known");
	if (known.period_bytes > 1)
		seep_profile_add_unseen(profile, "sampled",
					"only samples were taken, one in about %s allocated: all "
					"figures are estimates",
					seep_bytes_text(known.period_bytes).text);
	if (!known.allocs)
		seep_profile_add_unseen(profile, SEEP_UNSEEN_NO_FREES,
					"only what was live is known, not what was allocated and "
					"freed before");
	if (!known.live)
		seep_profile_add_unseen(profile, SEEP_UNSEEN_NO_LIVE,
					"only what was allocated is known, not what of it is live");
	if (known.mended > 0 && known.allocs)
		seep_profile_add_unseen(profile, "mended",
					"of %s, more was live than was allocated; what was "
					"allocated was raised to it",
					seep_things_text(known.mended, "call stack").text);
}

/* ---- stacks that begin in the allocator ------------------------------------------------------ */

struct allocator_function {
	const char *name; /* without parameters */
	uint8_t kind;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct allocator_function *)a)->name,
		      ((const struct allocator_function *)b)->name);
}

/* The kind of @function, an allocation function; LEDGER_KIND_COUNT: it is none. */
static uint8_t kind_of(const char *function)
{
	/* In the order of strcmp(). */
	static const struct allocator_function functions[] = {
		{ "aligned_alloc", LEDGER_KIND_MEMALIGN },
		{ "calloc", LEDGER_KIND_CALLOC },
		{ "malloc", LEDGER_KIND_MALLOC },
		{ "memalign", LEDGER_KIND_MEMALIGN },
		{ "operator new", LEDGER_KIND_NEW },
		{ "operator new[]", LEDGER_KIND_NEW_ARRAY },
		{ "posix_memalign", LEDGER_KIND_MEMALIGN },
		{ "pvalloc", LEDGER_KIND_MEMALIGN },
		{ "realloc", LEDGER_KIND_REALLOC },
		{ "reallocarray", LEDGER_KIND_REALLOC },
		{ "valloc", LEDGER_KIND_MEMALIGN },
	};
	char name[sizeof("operator new[]")];
	const size_t bytes = strcspn(function, "(");
	const struct allocator_function key = { name, 0 };
	const struct allocator_function *found;

	if (bytes >= sizeof(name))
		return LEDGER_KIND_COUNT;
	memcpy(name, function, bytes);
	name[bytes] = '\0';
	found = bsearch(&key, functions, sizeof(functions) / sizeof(functions[0]), sizeof(key),
			by_name);
	if (!found)
		return LEDGER_KIND_COUNT;
	if (found->kind >= LEDGER_KIND_NEW && strstr(function, "align_val_t"))
		return found->kind == LEDGER_KIND_NEW ? LEDGER_KIND_NEW_ALIGNED
						      : LEDGER_KIND_NEW_ARRAY_ALIGNED;
	return found->kind;
}

/* In the library of an allocator; glibc's and C++'s have other functions too. */
static bool is_allocator(const struct seep_profile *profile, const struct seep_profile_frame *frame)
{
	static const char *const libraries[] = { "libjemalloc", "libtcmalloc", NULL };
	const char *path = seep_profile_frame_path(profile, frame);

	return path && seep_begins_among(seep_path_base(path), libraries);
}

void seep_import_trim(struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_context *context = &profile->contexts[i];
		uint32_t begin = 0;

		for (uint32_t k = 0; k < context->stack_count && k < ALLOCATOR_FRAMES_MAX; k++) {
			const struct seep_profile_frame *frame =
				&profile->frames[context->stack[k].frame];
			const uint8_t kind = frame->function ? kind_of(frame->function)
							     : LEDGER_KIND_COUNT;

			if (kind < LEDGER_KIND_COUNT)
				context->kind = kind;
			if (kind < LEDGER_KIND_COUNT || is_allocator(profile, frame))
				begin = k + 1;
		}
		context->stack += begin;
		context->stack_count -= begin;
		seep_fold_recursion(profile, context);
	}
}

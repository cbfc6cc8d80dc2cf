/* SPDX-License-Identifier: MIT */
#include "import/import.h"

#include "base/decode.h"
#include "base/path.h"
#include "base/units.h"
#include "core/bits.h"
#include "profile/builder.h"
#include "profile/estimate.h"
#include "profile/kind_name.h"
#include "profile/profile_check.h"

#include <math.h>
#include <string.h>

/* Further in, a function of such a name is the program's own. */
enum { HEAD_BYTES = 4096, ALLOCATOR_FRAMES_MAX = 32 };

#define IMPORTER(name) &seep_import_##name,
#define NAME(name) #name,
const struct seep_importer *const seep_importers[] = { SEEP_IMPORTERS(IMPORTER) NULL };
const char *const seep_importer_names[] = { SEEP_IMPORTERS(NAME) NULL };

const struct seep_importer *seep_importer_detect(const void *data, size_t bytes)
{
	SEEP_RELEASED(seep_decoder_free_at)
	struct seep_decoder *decoder = seep_decoder_new(data, bytes, UINT64_MAX);
	char head[HEAD_BYTES + 1];
	size_t got;

	/* What came before a damaged place, or the end of what was read, is still there. */
	(void)!seep_decoder_read(decoder, head, HEAD_BYTES, &got, NULL);
	head[got] = '\0';
	for (size_t i = 0; seep_importers[i]; i++)
		if (seep_importers[i]->detects(head, got))
			return seep_importers[i];
	return NULL;
}

int seep_import(const struct seep_importer *importer, const void *data, size_t bytes,
		struct seep_profile **ret_profile, struct seep_error *err)
{
	SEEP_RELEASED(seep_decoder_free_at)
	struct seep_decoder *decoder = seep_decoder_new(data, bytes, importer->max_bytes);
	SEEP_RELEASED(seep_builder_done) struct seep_builder builder;
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
	return r;
}

uint32_t seep_import_module(struct seep_profile *profile, const char *path, uint64_t start,
			    uint64_t end, uint64_t file_offset)
{
	const uint64_t bias = start - file_offset;
	struct seep_profile_module *module = NULL;

	if (profile->module_count)
		module = &profile->modules[profile->module_count - 1];
	if (module && module->bias == bias && strcmp(module->path, path) == 0) {
		module->end = end;
		return profile->module_count;
	}
	module = seep_profile_add(profile, SEEP_ARRAY_MODULES);
	module->path = seep_profile_strdup(profile, path);
	module->bias = bias;
	module->by_place = true;
	module->start = start;
	module->end = end;
	return profile->module_count;
}

struct seep_profile_context *seep_import_add(struct seep_builder *builder,
					     const struct seep_import_figures *figures,
					     uint32_t piece)
{
	struct seep_profile *profile = builder->profile;
	struct seep_profile_context *c = seep_profile_add(profile, SEEP_ARRAY_CONTEXTS);

	c->id = profile->context_count;
	c->no_stack = piece == 0;
	c->live_blocks = figures->live_blocks;
	c->live_bytes = figures->live_bytes;
	if (figures->allocs > figures->live_blocks)
		c->frees = figures->allocs - figures->live_blocks;
	if (figures->alloc_bytes > figures->live_bytes)
		c->freed_bytes = figures->alloc_bytes - figures->live_bytes;
	c->allocs = c->live_blocks + c->frees;
	c->alloc_bytes = c->live_bytes + c->freed_bytes;
	if (figures->allocs > 0 &&
	    (c->allocs > figures->allocs || c->alloc_bytes > figures->alloc_bytes))
		seep_profile_add_unseen(
			profile, "mended",
			"of some call stacks, more was live than was allocated; what "
			"was allocated was raised to it");
	seep_builder_stack(builder, c, piece);
	return c;
}

/*
 * As the estimates were made: what allocates X bytes is met with the probability 1 - exp(-X / period),
 * if X is the same in all of them.
 */
static void set_errors(struct seep_profile *profile, struct seep_profile_context *context,
		       double period)
{
	context->errors = seep_profile_calloc(profile, SEEP_FIGURE_COUNT, sizeof(*context->errors));
	for (int f = 0; f < SEEP_FIGURE_COUNT; f++) {
		const bool is_bytes = seep_figure_blocks[f] != f;
		const double blocks = (double)context->figures[seep_figure_blocks[f]];
		const double all = (double)core_larger(context->allocs, 1);
		const double mean = (double)core_larger(context->alloc_bytes, 1) / all;
		const double size = is_bytes && blocks > 0 ? (double)context->figures[f] / blocks
							   : mean;
		const double met = -expm1(-fmax(size, 1) / period);
		const struct seep_taken taken = {
			blocks * met, blocks * (1 / met - 1) * (is_bytes ? size * size : 1)
		};

		if (blocks > 0)
			context->errors[f] = seep_taken_error(&taken, 0);
	}
}

void seep_import_tell(struct seep_profile *profile, struct seep_import_knowledge known)
{
	profile->totals.peak_exact = known.peak;
	if (!known.peak)
		seep_profile_add_unseen(profile, SEEP_UNSEEN_ONE_MOMENT,
					"the profile is of one moment: the peak, temporary "
					"allocations and growth are not known");
	if (known.period_bytes > 1) {
		for (uint32_t i = 0; i < profile->context_count; i++)
			set_errors(profile, &profile->contexts[i], (double)known.period_bytes);
		profile->process.tiers = seep_profile_tiers_value("sampled");
		profile->process.sample_bytes = core_smaller(known.period_bytes, INT64_MAX);
		seep_profile_add_unseen(profile, SEEP_UNSEEN_SAMPLED,
					"only samples were taken, one in about %s allocated: all "
					"figures are estimates",
					seep_bytes_text(known.period_bytes).text);
	}
	if (!known.allocs)
		seep_profile_add_unseen(profile, SEEP_UNSEEN_NO_FREES,
					"only what was live is known, not what was allocated and "
					"freed before");
	if (!known.live)
		seep_profile_add_unseen(profile, SEEP_UNSEEN_NO_LIVE,
					"only what was allocated is known, not what of it is live");
}

/* The kind of @function, an allocation function; LEDGER_KIND_COUNT: it is none. */
static uint8_t kind_of(const char *function)
{
	static const struct {
		const char *begin;
		uint8_t kind;
	} functions[] = {
		{ "operator new[](unsigned long, std::align_val_t", LEDGER_KIND_NEW_ARRAY_ALIGNED },
		{ "operator new(unsigned long, std::align_val_t", LEDGER_KIND_NEW_ALIGNED },
		{ "operator new[]", LEDGER_KIND_NEW_ARRAY },
		{ "operator new", LEDGER_KIND_NEW },
		{ "malloc", LEDGER_KIND_MALLOC },
		{ "calloc", LEDGER_KIND_CALLOC },
		{ "realloc", LEDGER_KIND_REALLOC },
		{ "reallocarray", LEDGER_KIND_REALLOC },
		{ "aligned_alloc", LEDGER_KIND_MEMALIGN },
		{ "memalign", LEDGER_KIND_MEMALIGN },
		{ "posix_memalign", LEDGER_KIND_MEMALIGN },
		{ "pvalloc", LEDGER_KIND_MEMALIGN },
		{ "valloc", LEDGER_KIND_MEMALIGN },
	};

	for (size_t i = 0; function && i < sizeof(functions) / sizeof(functions[0]); i++) {
		const size_t bytes = strlen(functions[i].begin);

		if (strncmp(function, functions[i].begin, bytes) == 0 &&
		    (function[bytes] == '\0' || strchr("(,)", function[bytes])))
			return functions[i].kind;
	}
	return LEDGER_KIND_COUNT;
}

/* In the library of an allocator; glibc's and C++'s have other functions too. */
static bool is_allocator(const struct seep_profile *profile, const struct seep_profile_frame *frame)
{
	static const char *const libraries[] = { "libjemalloc", "libtcmalloc", NULL };
	const char *path = seep_profile_frame_path(profile, frame);

	return path && seep_begins_among(seep_path_base(path), libraries);
}

static void trim(const struct seep_profile *profile, struct seep_profile_context *context)
{
	uint32_t begin = 0;

	for (uint32_t i = 0; i < context->stack_count && i < ALLOCATOR_FRAMES_MAX; i++) {
		const struct seep_profile_frame *frame = &profile->frames[context->stack[i].frame];
		const uint8_t kind = kind_of(frame->function);

		if (kind < LEDGER_KIND_COUNT)
			context->kind = kind;
		if (kind < LEDGER_KIND_COUNT || is_allocator(profile, frame))
			begin = i + 1;
	}
	context->stack += begin;
	context->stack_count -= begin;
}

void seep_import_trim(struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		trim(profile, &profile->contexts[i]);
}

/* SPDX-License-Identifier: MIT */
/*
 * Profiles of other tools, read into ours. An importer is a pure function from bytes, which may be
 * hostile, to a profile; it knows no files. What its format does not say is unknown, and
 * profile->unseen says that it is, so that no report shows a zero for it.
 */
#ifndef SEEP_IMPORT_IMPORT_H
#define SEEP_IMPORT_IMPORT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_builder;
struct seep_decoder;
struct seep_profile;

/* In the order of detection: any text is hardly a pprof profile, but any bytes may be. */
#define SEEP_IMPORTERS(IMPORTER) IMPORTER(jemalloc) IMPORTER(heaptrack) IMPORTER(pprof)

struct seep_importer {
	const char *name;
	const char *lacks;  /* that the format does not say: "the process and its threads" */
	uint64_t max_bytes; /* that it reads at most, decompressed */
	/* May the first @bytes, decompressed, be of this format? A zero follows them. */
	bool (*detects)(const char *head, size_t bytes);
	/*
	 * Fill the builder's profile: modules, frames, contexts with their figures (with
	 * seep_import_add() where the format has no history), process, timeline, unseen.
	 * Returns: 0, or -SEEP_ECORRUPT, -SEEP_ETRUNC, -SEEP_EUNSUPPORTED, -SEEP_ELIMIT.
	 */
	int (*read)(struct seep_decoder *source, struct seep_builder *builder,
		    struct seep_error *err);
};

/* NULL ends them. Their names, in the same order. */
extern const struct seep_importer *const seep_importers[];
extern const char *const seep_importer_names[];

/* By the content, which may be compressed; its first 64 KB are enough. NULL: none reads it. */
const struct seep_importer *seep_importer_detect(const void *data, size_t bytes);

/**
 * seep_import - make a profile of another tool's
 * @data:        of the whole file, compressed by gzip or zstd or not
 * @ret_profile: set on success only; release with seep_profile_free()
 *
 * Addresses may lack names: next come seep_profile_symbolise() and seep_import_trim().
 *
 * Returns: 0, or
 *   -SEEP_ECORRUPT      the format is violated, or figures contradict each other
 *   -SEEP_ETRUNC        the end is missing
 *   -SEEP_EUNSUPPORTED  it is of the format, but no heap profile, or of another version
 *   -SEEP_ELIMIT        it holds more than is read
 */
SEEP_NODISCARD int seep_import(const struct seep_importer *importer, const void *data, size_t bytes,
			       struct seep_profile **ret_profile, struct seep_error *err);

/*
 * Let stacks begin as ours do, at the caller of the allocation function: leave out the functions of
 * the allocator that other tools keep, and take the kind of allocation from the last of them.
 */
void seep_import_trim(struct seep_profile *profile);

/*
 * The module of a mapping, as in a frame: a new one, or the last one where it is of the same file.
 * Addresses of frames are less its bias, and places in the file until their names are looked up.
 */
uint32_t seep_import_module(struct seep_profile *profile, const char *path, uint64_t start,
			    uint64_t end, uint64_t file_offset);

/* What formats say of a call stack that know one moment; what they do not is 0. */
struct seep_import_figures {
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t live_blocks;
	uint64_t live_bytes;
};

/*
 * A context with these figures and the stack of the builder's piece, 0 = none. Where more is live
 * than was allocated, as the estimates of samples can say, what was allocated is raised, and
 * profile->unseen tells that.
 */
struct seep_profile_context *seep_import_add(struct seep_builder *builder,
					     const struct seep_import_figures *figures,
					     uint32_t piece);

/* What such a profile says in all, for the lines of profile->unseen that follow from it. */
struct seep_import_knowledge {
	bool allocs;
	bool live;
	bool peak;	       /* and temporary allocations */
	uint64_t period_bytes; /* of sampling; up to 1: all was recorded */
};

void seep_import_tell(struct seep_profile *profile, struct seep_import_knowledge known);

#define SEEP_IMPORTER_DECLARED(name) extern const struct seep_importer seep_import_##name;
SEEP_IMPORTERS(SEEP_IMPORTER_DECLARED)

#endif

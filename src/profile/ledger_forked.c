/* SPDX-License-Identifier: MIT */
#include "profile/ledger_forked.h"

#include "base/file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/ledger_figure.h"
#include "profile/ledger_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void seep_forked_less(struct seep_profile_forked *sums, const struct seep_profile_forked *part)
{
	sums->processes -= core_smaller(part->processes, sums->processes);
	sums->allocs -= core_smaller(part->allocs, sums->allocs);
	sums->alloc_bytes -= core_smaller(part->alloc_bytes, sums->alloc_bytes);
	sums->frees -= core_smaller(part->frees, sums->frees);
	sums->freed_bytes -= core_smaller(part->freed_bytes, sums->freed_bytes);
	sums->frees = core_smaller(sums->frees, sums->allocs);
	sums->freed_bytes = core_smaller(sums->freed_bytes, sums->alloc_bytes);
	sums->live_bytes = sums->alloc_bytes - sums->freed_bytes;
}

void seep_forked_add(struct seep_profile_forked *to, const struct seep_profile_forked *from)
{
	struct seep_profile_forked sums = *to;

	to->processes += from->processes;
	sums.processes = to->processes;
	/* What went is part of what came. */
	if (!seep_ledger_add(&sums.allocs, from->allocs) ||
	    !seep_ledger_add(&sums.alloc_bytes, from->alloc_bytes))
		return;
	sums.frees += from->frees;
	sums.freed_bytes += from->freed_bytes;
	sums.live_bytes += from->live_bytes;
	*to = sums;
}

static uint64_t figure(const _Atomic uint64_t *word)
{
	const uint64_t value = atomic_load_explicit(word, memory_order_relaxed);

	return value <= INT64_MAX ? value : 0;
}

struct seep_profile_forked seep_forked_load(const struct ledger_forked *from)
{
	struct seep_profile_forked sums = {
		.processes = figure(&from->processes),
		.allocs = figure(&from->allocs),
		.alloc_bytes = figure(&from->alloc_bytes),
		.frees = figure(&from->frees),
		.freed_bytes = figure(&from->freed_bytes),
	};

	seep_forked_less(&sums, &(struct seep_profile_forked){ 0 });
	return sums;
}

void seep_forked_take_out(struct ledger_forked *from, const struct seep_profile_forked *part)
{
	atomic_fetch_sub_explicit(&from->processes, part->processes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&from->allocs, part->allocs, memory_order_relaxed);
	atomic_fetch_sub_explicit(&from->alloc_bytes, part->alloc_bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&from->frees, part->frees, memory_order_relaxed);
	atomic_fetch_sub_explicit(&from->freed_bytes, part->freed_bytes, memory_order_relaxed);
}

struct search {
	const char *parent; /* its file name */
	struct seep_profile_forked found;
};

static void add_if_child(int dir_fd, const char *file_name, void *context)
{
	static const char suffix[] = ".ledger";
	const size_t bytes = strlen(file_name);
	struct search *search = context;
	struct seep_profile_forked young;
	struct seep_ledger ledger;

	if (bytes < sizeof(suffix) || strcmp(file_name + bytes + 1 - sizeof(suffix), suffix) != 0 ||
	    seep_ledger_open(dir_fd, file_name, SEEP_LEDGER_OURS, &ledger, NULL) < 0)
		return;
	if (strcmp(ledger.view.header.parent, search->parent) == 0) {
		young = seep_forked_load(&ledger.state->young);
		seep_forked_add(&search->found, &young);
	}
	seep_ledger_close(&ledger);
}

void seep_profile_less_grown(struct seep_profile *profile, const char *path)
{
	struct search search = { .parent = seep_path_base(path) };
	char *folder;
	int fd;

	if (profile->forked.processes == 0)
		return;
	folder = search.parent == path ? seep_xstrdup(".")
				       : seep_xstrndup(path, (size_t)(search.parent - path));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (fd < 0)
		return;
	if (seep_folder_each(fd, add_if_child, &search, NULL) == 0)
		seep_forked_less(&profile->forked, &search.found);
	(void)close(fd);
}

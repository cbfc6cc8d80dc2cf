/* SPDX-License-Identifier: MIT */
#include "profile/ledger_live.h"

#include "base/arena.h"
#include "base/shared_map.h"
#include "base/xalloc.h"
#include "profile/ledger_file.h"
#include "profile/ledger_parts.h"
#include "profile/process_life.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct seep_ledger_live {
	struct seep_ledger ledger;
	struct seep_shared_map map; /* all of it */
	struct seep_ledger_load load;
	struct seep_arena *passing; /* what the next refresh says anew */
};

int seep_ledger_live_open(const char *path, struct seep_ledger_live **ret_live,
			  struct seep_error *err)
{
	struct seep_ledger_live *live = seep_xcalloc(1, sizeof(*live));
	int r;

	live->ledger.fd = -1;
	r = seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_READ, &live->ledger, err);
	if (r == 0)
		r = seep_ledger_map(&live->ledger, &live->map, err);
	if (r == 0)
		r = seep_ledger_load_begin(&live->load, live->map.at, live->ledger.bytes, true,
					   err);
	if (r == 0)
		r = seep_ledger_live_refresh(live, err);
	if (r == 0)
		*ret_live = live;
	else
		seep_ledger_live_close(live);
	return r;
}

void seep_ledger_live_close(struct seep_ledger_live *live)
{
	if (!live)
		return;
	seep_ledger_load_done(&live->load);
	seep_arena_free(live->passing);
	seep_shared_map_close(&live->map);
	seep_ledger_close(&live->ledger);
	free(live);
}

struct seep_profile *seep_ledger_live_profile(struct seep_ledger_live *live)
{
	return live->load.profile;
}

/* Said before anything is read, so that what was read last stays. */
static int check_file(const struct seep_ledger_live *live, struct seep_error *err)
{
	const struct ledger_header *header = live->map.at;
	struct stat st;

	if (fstat(live->ledger.fd, &st) == 0 && (uint64_t)st.st_size < live->ledger.bytes)
		return seep_fail(err, SEEP_ETRUNC, "its ledger was truncated");
	if (memcmp(header->magic, live->load.view.header.magic, sizeof(header->magic)) != 0 ||
	    memcmp(header->table, live->load.view.header.table, sizeof(header->table)) != 0)
		return seep_fail(err, SEEP_ECORRUPT, "its ledger was written over");
	return 0;
}

int seep_ledger_live_refresh(struct seep_ledger_live *live, struct seep_error *err)
{
	struct seep_profile *profile = live->load.profile;
	struct seep_arena *kept = profile->arena;
	int r = check_file(live, err);

	if (r < 0)
		return r;
	seep_ledger_load_bound(&live->load, &live->ledger);
	seep_ledger_load_figures(&live->load);
	seep_arena_free(live->passing);
	profile->arena = live->passing = seep_arena_new();
	seep_ledger_load_notes(&live->load);
	profile->arena = kept;
	if (seep_shared_map_is_cut(&live->map))
		return seep_fail(err, SEEP_ETRUNC, "%s was truncated while it was read",
				 live->ledger.file_name);
	return 0;
}

bool seep_ledger_live_runs(const struct seep_ledger_live *live, uint32_t *ret_pid)
{
	enum seep_process_life life;

	*ret_pid = 0;
	life = seep_process_life(&live->ledger, ret_pid);
	/* Who called exec has said so; else this is a copy, which may be watched as well. */
	return life == SEEP_PROCESS_REPLACED
		       ? LEDGER_GET(live->ledger.state->ended) != LEDGER_ENDED_EXEC
		       : life != SEEP_PROCESS_DEAD && life != SEEP_PROCESS_DETACHED;
}

struct seep_growth_list seep_ledger_live_growth(const struct seep_ledger_live *live,
						uint64_t now_ns)
{
	return live->map.at && seep_ledger_has_recorder(&live->ledger)
		       ? seep_ledger_growth_read(live->ledger.control, now_ns)
		       : (struct seep_growth_list){ 0 };
}

bool seep_ledger_live_is_replaced(const struct seep_ledger_live *live)
{
	struct stat ours, there;

	return fstat(live->ledger.fd, &ours) == 0 && stat(live->ledger.file_name, &there) == 0 &&
	       (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev);
}

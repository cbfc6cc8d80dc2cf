/* SPDX-License-Identifier: MIT */
#include "recorder/snapshots.h"

#include "base/clock.h"
#include "base/path.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "recorder/outname.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The snapshots of one recording's name. */
struct seep_snapshot_ring {
	struct seep_snapshot_ring *next;
	char *output;
	unsigned number;  /* of the newest that was begun, 0 none */
	unsigned *kept;	  /* numbers of those that exist, oldest first */
	unsigned count;	  /* of kept */
	unsigned written; /* ever */
	uint64_t bytes;	  /* of the newest that was written; 0: not known */
	bool busy;
};

struct seep_snapshots {
	const struct seep_recorder_plan *plan;
	uint64_t next_ns;
	struct seep_snapshot_ring *rings;
	unsigned left_out;
	unsigned without_room;
	char *room; /* what there was of it, the first time */
	unsigned failed;
	char *problem; /* the first failure */
};

struct seep_snapshots *seep_snapshots_new(const struct seep_recorder_plan *plan)
{
	struct seep_snapshots *snapshots = seep_xcalloc(1, sizeof(*snapshots));

	snapshots->plan = plan;
	snapshots->next_ns = seep_monotonic_ns() + plan->snapshot_every_ns;
	return snapshots;
}

void seep_snapshots_free(struct seep_snapshots *snapshots)
{
	if (!snapshots)
		return;
	while (snapshots->rings) {
		struct seep_snapshot_ring *ring = snapshots->rings;

		snapshots->rings = ring->next;
		free(ring->output);
		free(ring->kept);
		free(ring);
	}
	free(snapshots->problem);
	free(snapshots->room);
	free(snapshots);
}

uint64_t seep_snapshots_next_ns(const struct seep_snapshots *snapshots)
{
	return snapshots->plan->snapshot_every_ns ? snapshots->next_ns : UINT64_MAX;
}

bool seep_snapshots_due(struct seep_snapshots *snapshots)
{
	const uint64_t every_ns = snapshots->plan->snapshot_every_ns;
	uint64_t now_ns = seep_monotonic_ns();

	if (every_ns == 0 || now_ns < snapshots->next_ns)
		return false;
	/* Those that were missed, while seep was stopped for instance, are not made up for. */
	snapshots->next_ns += ((now_ns - snapshots->next_ns) / every_ns + 1) * every_ns;
	return true;
}

static struct seep_snapshot_ring *find_ring(struct seep_snapshots *snapshots, const char *output)
{
	struct seep_snapshot_ring *ring;

	for (ring = snapshots->rings; ring; ring = ring->next)
		if (strcmp(ring->output, output) == 0)
			return ring;
	ring = seep_xcalloc(1, sizeof(*ring));
	ring->output = seep_xstrdup(output);
	ring->kept = seep_xcalloc(snapshots->plan->snapshot_keep + 1u, sizeof(*ring->kept));
	ring->next = snapshots->rings;
	snapshots->rings = ring;
	return ring;
}

/* The next number whose file is not there from an earlier run. */
static unsigned next_number(const struct seep_snapshot_ring *ring)
{
	unsigned number = ring->number;
	bool taken = true;

	while (taken && number < INT_MAX) {
		SEEP_FREED char *path = seep_outname_snapshot(ring->output, ++number);

		taken = access(path, F_OK) == 0;
	}
	return number;
}

/* For one more, and for the recording at the end, which may be larger by an eighth. */
static bool has_room_for_two(struct seep_snapshots *snapshots,
			     const struct seep_snapshot_ring *ring)
{
	SEEP_FREED char *folder = seep_path_folder(ring->output);
	struct statvfs about;
	const uint64_t bytes = ring->bytes + ring->bytes / 8;
	uint64_t left = UINT64_MAX;

	/* A tmpfs may have no bound. */
	if (ring->bytes && statvfs(folder, &about) == 0 && about.f_blocks)
		left = (uint64_t)about.f_bavail * about.f_frsize;
	if (left / 2 < bytes && snapshots->without_room++ == 0)
		snapshots->room = seep_xasprintf("%s had %s left, the last snapshot took %s",
						 folder, seep_bytes_text(left).text,
						 seep_bytes_text(ring->bytes).text);
	return left / 2 >= bytes;
}

struct seep_finish_job *seep_snapshots_begin(struct seep_snapshots *snapshots,
					     const struct seep_finish_job *like, bool due)
{
	struct seep_snapshot_ring *ring = due ? find_ring(snapshots, like->output) : NULL;
	struct seep_finish_job *job;

	if (!seep_finisher_has_room() || (due && ring->busy)) {
		snapshots->left_out += due;
		return NULL;
	}
	if (due && !has_room_for_two(snapshots, ring))
		return NULL;
	job = seep_xmemdup(like, sizeof(*like));
	job->output = NULL;
	if (due) {
		ring->busy = true;
		ring->number = next_number(ring);
		job->output = seep_outname_snapshot(ring->output, ring->number);
	}
	job->snapshot = true;
	job->ring = ring;
	/* Copies: the event loop goes on with its own. */
	job->image.children = seep_xmemdup(job->image.children,
					   job->image.child_count * sizeof(*job->image.children));
	seep_watch_result_now(job->image.watch, &job->image.gathered);
	seep_outside_look(&job->image.gathered.outside, job->image.reachable ? job->image.pid : 0);
	return job;
}

static void drop_oldest(struct seep_snapshot_ring *ring)
{
	SEEP_FREED char *path = seep_outname_snapshot(ring->output, ring->kept[0]);

	(void)unlink(path);
	ring->count--;
	memmove(ring->kept, ring->kept + 1, ring->count * sizeof(*ring->kept));
}

void seep_snapshots_end(struct seep_snapshots *snapshots, struct seep_finish_job *job)
{
	struct seep_snapshot_ring *ring = job->ring;
	struct stat st;

	if (ring)
		ring->busy = false;
	if (job->recorded) {
		ring->bytes = stat(job->output, &st) == 0 ? (uint64_t)st.st_size : 0;
		ring->written++;
		ring->kept[ring->count++] = ring->number;
		if (ring->count > snapshots->plan->snapshot_keep)
			drop_oldest(ring);
	} else if (ring && job->err.code != 0 && snapshots->failed++ == 0) {
		snapshots->problem = seep_xstrdup(job->err.text);
	}
	seep_watch_result_done(&job->image.gathered);
	seep_profile_free(job->profile);
	free(job->image.children);
	free((char *)(uintptr_t)job->output);
	free(job);
}

/* Before what happened to FILE, which hints follow. */
static void tell(struct seep_recorder_result *result, unsigned count, const char *one,
		 const char *several, const char *why)
{
	if (count > 0)
		seep_texts_take_first(&result->problems,
				      seep_xasprintf("%u snapshot%s: %s", count,
						     count == 1 ? one : several, why));
}

void seep_snapshots_result(const struct seep_snapshots *snapshots,
			   struct seep_recorder_result *result)
{
	unsigned others = 0;

	tell(result, snapshots->left_out, " was left out", "s were left out",
	     "earlier ones were still being written");
	tell(result, snapshots->without_room, " was left out, so that the recording has room",
	     "s were left out, so that the recording has room", snapshots->room);
	tell(result, snapshots->failed, " could not be written", "s could not be written",
	     snapshots->problem);
	for (const struct seep_snapshot_ring *ring = snapshots->rings; ring; ring = ring->next) {
		SEEP_FREED char *newest = NULL;

		if (strcmp(ring->output, snapshots->plan->output) != 0 || !ring->count) {
			others += ring->written;
			continue;
		}
		newest = seep_outname_snapshot(ring->output, ring->kept[ring->count - 1]);
		seep_texts_add(&result->notes, "%u snapshot%s, the newest is %s", ring->written,
			       ring->written == 1 ? "" : "s", newest);
	}
	if (others > 0)
		seep_texts_add(&result->notes, "%u snapshot%s of other processes", others,
			       others == 1 ? "" : "s");
}

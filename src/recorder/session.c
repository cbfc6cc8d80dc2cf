/* SPDX-License-Identifier: MIT */
#include "recorder/session.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "profile/ledger_figure.h"
#include "profile/ledger_name.h"
#include "recorder/ledger_control.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	DESCRIPTORS_PER_IMAGE = 3, /* its ledger, twice, and itself */
	DESCRIPTORS_FOR_WORK = 7,  /* to write a recording, and to look into a process */
	FIRST_DESCRIPTORS = 1024,  /* what has higher numbers when we start is rare */
};

static struct seep_image *by_name(struct seep_session *session, const char *file_name)
{
	for (struct seep_image *image = session->images; image; image = image->next)
		if (strcmp(image->file_name, file_name) == 0)
			return image;
	return NULL;
}

/* The newest image of a process, by exec order. */
static struct seep_image *newest_of(struct seep_session *session, uint32_t pid,
				    const struct seep_image *except)
{
	struct seep_image *newest = NULL;

	for (struct seep_image *image = session->images; image; image = image->next)
		if (image->pid == pid && image != except &&
		    (!newest || image->start_ticks > newest->start_ticks ||
		     (image->start_ticks == newest->start_ticks &&
		      image->created_ns > newest->created_ns)))
			newest = image;
	return newest;
}

struct seep_image *seep_session_main(struct seep_session *session)
{
	struct seep_image *image = newest_of(session, session->main_pid, NULL);

	return image && image->is_main ? image : NULL;
}

static bool is_followed(const struct seep_session *session, const struct seep_image *image)
{
	if (image->is_main)
		return true;
	if (!session->plan->follow)
		return false;
	return !session->plan->follow_exe ||
	       regexec(session->plan->follow_exe, image->exe, 0, NULL, 0) == 0;
}

static bool is_child(const struct seep_image *image, const struct seep_image *parent)
{
	if (image->pid == parent->pid)
		return false;
	if (image->parent_name[0])
		return strcmp(image->parent_name, parent->file_name) == 0;
	return image->ppid == parent->pid;
}

/* A pid that comes again in the run may name a descendant as the parent: never in a circle. */
static void adopt(struct seep_image *child, struct seep_image *parent)
{
	for (const struct seep_image *at = parent; at; at = at->parent)
		if (at == child)
			return;
	child->parent = parent;
}

/* Images may be met in any order: a scan gives them as the folder holds them. */
static void link_images(struct seep_session *session, struct seep_image *image)
{
	for (struct seep_image *other = session->images; other; other = other->next) {
		if (other == image || other->pid != image->pid ||
		    other->start_ticks != image->start_ticks)
			continue;
		if (other->created_ns < image->created_ns)
			other->replaced = true;
		else
			image->replaced = true;
		image->parent = other->parent;
	}
	if (!image->parent && image->parent_name[0])
		image->parent = by_name(session, image->parent_name);
	if (!image->parent && image->ppid != image->pid)
		image->parent = newest_of(session, image->ppid, image);
	for (struct seep_image *other = session->images; other; other = other->next)
		if (!other->parent && other != image && is_child(other, image))
			adopt(other, image);
}

static void take_kept_status(struct seep_session *session, struct seep_image *image)
{
	uint32_t count = session->status_count;
	uint32_t kept = count < SEEP_SESSION_STATUS_KEPT ? count : SEEP_SESSION_STATUS_KEPT;

	/* A process that is still alive has no status: the one kept is another's with its pid. */
	if (image->pidfd >= 0 || !image->reachable)
		return;
	for (uint32_t i = 1; i <= kept; i++) {
		uint32_t at = (count - i) % SEEP_SESSION_STATUS_KEPT;

		if (session->statuses[at].pid == image->pid) {
			image->has_status = true;
			image->wait_status = session->statuses[at].wait_status;
			return;
		}
	}
}

static void follow(struct seep_session *session, struct seep_image *image)
{
	struct seep_error err;

	image->follow_at_ns = 0;
	if (seep_watch_follow(image->watch, &err) < 0)
		seep_texts_add(session->problems, "%s (pid %u) is recorded without a timeline: %s",
			       image->exe, image->pid, err.text);
}

/* Shells fork by the thousand: a thread for each would cost more than the child. */
static bool may_be_short(const struct seep_session *session, const struct seep_image *image)
{
	if (session->plan->leak_check && session->plan->leak_check->small_forks)
		return false;
	return image->is_fork && image->reachable && !image->is_main;
}

uint64_t seep_session_follow(struct seep_session *session, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	for (struct seep_image *image = session->images; image; image = image->next) {
		if (image->follow_at_ns == 0 || !image->watch)
			continue;
		if (image->follow_at_ns > now_ns)
			next = image->follow_at_ns < next ? image->follow_at_ns : next;
		else
			follow(session, image);
	}
	return next;
}

static void add_image(struct seep_session *session, struct seep_ledger *ledger)
{
	struct seep_image *image = seep_image_new(ledger);

	image->is_main = image->pid == session->main_pid && image->reachable;
	image->followed = is_followed(session, image);
	image->next = session->images;
	session->images = image;
	link_images(session, image);
	take_kept_status(session, image);
	if (!image->followed) {
		/* Nobody will look at it: spare the process the work. */
		seep_ledger_set_mode(ledger->control, LEDGER_MODE_OFF);
		return;
	}
	/* Of one that is gone already it takes the one sample that there can be. */
	image->watch = seep_watch_new(ledger, image->reachable, session->plan->leak_check,
				      session->plan->growth_after_ns);
	if (may_be_short(session, image))
		image->follow_at_ns = seep_monotonic_ns() + SEEP_SESSION_FOLLOW_AFTER_NS;
	else
		follow(session, image);
}

/* A later image of a process may take the name of one whose ledger was removed just now. */
static char *key_of(const char *file_name, uint64_t created_ns)
{
	return seep_xasprintf("%s %" PRIu64, file_name, created_ns);
}

static bool is_known(struct seep_session *session, const struct seep_ledger *ledger)
{
	const uint64_t created_ns = ledger->view.header.created_ns;
	SEEP_FREED char *key = key_of(ledger->file_name, created_ns);

	for (struct seep_image *image = session->images; image; image = image->next)
		/* Whatever it is called: it may have several links. */
		if (image->created_ns == created_ns && image->pid == ledger->view.header.pid)
			return true;
	return seep_texts_have(&session->kept, key);
}

/*
 * A parallel build would meet the usual soft limit, which is only ours by now: the program has been
 * forked. A hard one that is low lets fewer processes be followed at a time.
 */
void seep_session_find_room(struct seep_session *session)
{
	struct rlimit limit;
	rlim_t taken = 0;

	session->room = 1;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = 0; fd < FIRST_DESCRIPTORS; fd++)
		taken += fcntl(fd, F_GETFD) >= 0;
	taken += DESCRIPTORS_FOR_WORK + DESCRIPTORS_PER_IMAGE;
	if (limit.rlim_max > taken)
		session->room += (limit.rlim_max - taken) / DESCRIPTORS_PER_IMAGE;
}

static bool has_room(const struct seep_session *session)
{
	size_t holders = 0;

	for (const struct seep_image *image = session->images; image; image = image->next)
		holders += image->watch || image->pidfd >= 0;
	return holders < session->room;
}

/*
 * Forked children give their ledgers a name at their end, if they were not small. One that lives on,
 * or was killed, gets it from us. False: it is no such ledger, it is not time yet, or it has a name.
 */
static bool give_name(const struct seep_session *session, const char *unnamed, const char *name)
{
	const int dir_fd = session->plan->ledger_dir_fd;
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	const struct ledger_header *header = &ledger.view.header;

	if (seep_ledger_open(dir_fd, unnamed, SEEP_LEDGER_OURS, &ledger, NULL) < 0 ||
	    header->origin != LEDGER_ORIGIN_FORK || header->session != session->plan->session)
		return false;
	return (session->is_closing ||
		seep_clock_ns(CLOCK_REALTIME) - header->created_realtime_ns >= LEDGER_FORK_NS) &&
	       renameat2(dir_fd, unnamed, dir_fd, name, RENAME_NOREPLACE) == 0;
}

void seep_session_meet(struct seep_session *session, const char *file_name)
{
	struct seep_ledger_name name;
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int rc;

	if (!seep_ledger_name_parse(file_name, &name))
		return;
	if (name.is_unnamed) {
		SEEP_FREED char *finished =
			seep_xstrndup(file_name, strlen(file_name) - strlen(SEEP_LEDGER_UNNAMED));

		if (give_name(session, file_name, finished))
			seep_session_meet(session, finished);
		return;
	}
	if (!has_room(session)) {
		session->is_behind = true;
		return;
	}
	rc = seep_ledger_open(session->plan->ledger_dir_fd, file_name, SEEP_LEDGER_WRITE, &ledger,
			      &session->why);
	/* Where access is refused, waiting does not help. */
	if (rc == -SEEP_ESYS &&
	    faccessat(session->plan->ledger_dir_fd, file_name, R_OK | W_OK, AT_EACCESS) == 0)
		session->is_behind = true;
	if (rc < 0)
		return;
	if (ledger.view.header.session == session->plan->session && !is_known(session, &ledger))
		add_image(session, &ledger);
}

static void meet(int dir_fd, const char *file_name, void *session)
{
	(void)dir_fd;
	seep_session_meet(session, file_name);
}

void seep_session_scan(struct seep_session *session)
{
	session->is_behind = false;
	if (seep_folder_each(session->plan->ledger_dir_fd, meet, session, &session->why) < 0)
		session->is_behind = true;
}

void seep_session_dying(struct seep_session *session, uint32_t pid)
{
	struct seep_image *image = newest_of(session, pid, NULL);
	const struct seep_ledger *ledger = image && image->watch ? seep_watch_ledger(image->watch)
								 : NULL;

	if (ledger && image->reachable && !image->replaced &&
	    LEDGER_GET(ledger->state->ended) == LEDGER_ENDED_EXEC)
		seep_successor_look_at_dead(&image->gathered.successor, &ledger->view.header, pid);
}

void seep_session_ended(struct seep_session *session, uint32_t pid, int wait_status)
{
	struct seep_image *image = newest_of(session, pid, NULL);
	uint32_t at = session->status_count++ % SEEP_SESSION_STATUS_KEPT;

	/* Kept even when an image is known: a later one of the process may be met afterwards. */
	session->statuses[at].pid = pid;
	session->statuses[at].wait_status = wait_status;
	if (image && image->state == SEEP_IMAGE_LIVE) {
		image->has_status = true;
		image->wait_status = wait_status;
	}
}

/* From here on it has no descriptors, which others may be waiting for. */
static void stop_following(struct seep_image *image, bool dead)
{
	if (image->watch)
		seep_watch_stop(image->watch, dead, &image->gathered);
	image->watch = NULL;
	if (image->pidfd >= 0)
		(void)close(image->pidfd);
	image->pidfd = -1;
}

static void mark_dead(struct seep_image *image)
{
	stop_following(image, true);
	/* An image that was replaced did not end as the process did. */
	if (image->replaced)
		image->has_status = false;
	image->state = SEEP_IMAGE_DEAD;
	image->dead_ns = seep_monotonic_ns();
}

void seep_session_look(struct seep_session *session)
{
	for (struct seep_image *image = session->images; image; image = image->next)
		if (image->state == SEEP_IMAGE_LIVE && !image->left)
			image->gone = seep_image_is_gone(image);
}

/* Has process @pid a child that is no image here, as far as can be told? */
static bool has_unknown_child(struct seep_session *session, uint32_t pid)
{
	/* Also those that it was given, and those that it had before an exec. */
	SEEP_FREED char *text = seep_procfs_children(pid);
	char *at, *end;

	for (at = text; at; at = end) {
		const uint32_t child = (uint32_t)strtoul(at, &end, 10);
		const struct seep_image *image = newest_of(session, child, NULL);

		if (end == at)
			return false;
		if (child != session->main_pid && (!image || image->state != SEEP_IMAGE_LIVE))
			return true;
	}
	return true;
}

/* Children of a process that has ended are ours. One that called exec has kept them. */
static void look_for_small(struct seep_session *session)
{
	const struct seep_image *last = seep_session_main(session);
	const uint64_t now = seep_monotonic_ns();
	bool looked = false, ours = false;

	session->waits_for_small = false;
	for (struct seep_image *image = session->images; session->plan->follow && image;
	     image = image->next) {
		image->has_small = false;
		if (image == last || image->state != SEEP_IMAGE_DEAD ||
		    now - image->dead_ns >= SEEP_SESSION_SMALL_NS)
			continue;
		if (!looked)
			ours = has_unknown_child(session, (uint32_t)getpid());
		looked = true;
		image->has_small = ours || (newest_of(session, image->pid, NULL)->state ==
						    SEEP_IMAGE_LIVE &&
					    has_unknown_child(session, image->pid));
		session->waits_for_small |= image->has_small;
	}
}

void seep_session_bury(struct seep_session *session)
{
	for (struct seep_image *image = session->images; image; image = image->next)
		if (image->state == SEEP_IMAGE_LIVE && image->gone)
			mark_dead(image);
	look_for_small(session);
}

void seep_session_bury_elsewhere(struct seep_session *session)
{
	for (struct seep_image *image = session->images; image; image = image->next)
		if (image->state == SEEP_IMAGE_LIVE && !image->left && seep_image_says_ended(image))
			mark_dead(image);
}

static bool has_children(const struct seep_session *session, const struct seep_image *parent)
{
	for (const struct seep_image *image = session->images; image; image = image->next)
		if (image->parent == parent && !image->left)
			return true;
	return false;
}

static bool is_last_of_all(struct seep_session *session, const struct seep_image *image)
{
	for (const struct seep_image *other = session->images; other; other = other->next)
		if (other != image && !other->left)
			return false;
	return true;
}

struct seep_image *seep_session_next(struct seep_session *session)
{
	struct seep_image *last = seep_session_main(session);

	for (struct seep_image *image = session->images; image; image = image->next) {
		if (image->state != SEEP_IMAGE_DEAD || has_children(session, image) ||
		    (image->has_small && !session->is_closing))
			continue;
		if (image != last || (session->is_closing && is_last_of_all(session, image)))
			return image;
	}
	return NULL;
}

void seep_session_close(struct seep_session *session, struct seep_image *image, bool recorded,
			bool ledger_kept)
{
	struct seep_image *heir = image->parent;
	struct seep_image **link = &session->images;

	if (!heir)
		heir = seep_session_main(session);
	if (heir == image)
		heir = NULL;
	if (heir && recorded && heir->pid != image->pid)
		seep_image_add_child(heir, image->pid);
	if (heir && !recorded) {
		seep_forked_add(&heir->forked, &image->forked);
		for (size_t i = 0; i < image->child_count; i++)
			seep_image_add_child(heir, image->children[i]);
	}
	for (struct seep_image *other = session->images; other; other = other->next)
		if (other->parent == image)
			other->parent = image->parent;
	if (ledger_kept)
		/* Otherwise it would be tried again at every scan. */
		seep_texts_take(&session->kept, key_of(image->file_name, image->created_ns));
	while (*link != image)
		link = &(*link)->next;
	*link = image->next;
	seep_image_free(image);
}

size_t seep_session_live(const struct seep_session *session)
{
	size_t count = 0;

	for (const struct seep_image *image = session->images; image; image = image->next)
		if (image->state == SEEP_IMAGE_LIVE && !image->left &&
		    !seep_image_says_ended(image))
			count++;
	return count;
}

void seep_session_leave(struct seep_session *session, struct seep_image *image)
{
	stop_following(image, false);
	image->left = true;
	for (const char *name = image->parent_name; *name;) {
		struct seep_image *ancestor = by_name(session, name);

		if (!ancestor || ancestor->keep_ledger)
			break;
		ancestor->keep_ledger = true;
		name = ancestor->parent_name;
	}
}

void seep_session_done(struct seep_session *session)
{
	while (session->images) {
		struct seep_image *image = session->images;

		session->images = image->next;
		seep_image_free(image);
	}
	seep_texts_done(&session->kept);
}

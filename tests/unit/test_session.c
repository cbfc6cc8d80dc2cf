/* SPDX-License-Identifier: MIT */
/* Whose child is whose, and which ledger can be closed when. */
#include "ledger_fake.h"
#include "unit.h"
#include "recorder/ledgerdir.h"
#include "profile/ledger_figure.h"
#include "recorder/session.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { SESSION = 77, MAIN_PID = 4194301, CHILD_PID = 4194302, ORPHAN_PID = 4194303 };

static struct seep_recorder_plan plan;
static struct seep_session session;
static struct seep_texts problems;

static int set_up(void **state)
{
	(void)state;
	if (make_folder() < 0)
		return -1;
	plan = (struct seep_recorder_plan){
		.ledger_dir_fd = folder_fd,
		.session = SESSION,
		.follow = true,
	};
	session = (struct seep_session){
		.plan = &plan,
		.main_pid = MAIN_PID,
		.room = 100,
		.problems = &problems,
	};
	return 0;
}

static int tear_down(void **state)
{
	seep_session_done(&session);
	return remove_folder(state);
}

/* The ledger of a process that is gone; no pid on this machine is as high as these. */
static void write_dead(struct ledger_fake *fake, uint32_t pid, uint32_t ppid, uint32_t instance)
{
	fake->exe = "/bin/prog";
	fake->pid = pid;
	fake->ppid = ppid;
	fake->start_ticks = 1;
	fake->instance = instance;
	fake->created_ns = 1000 + instance;
	if (!fake->session)
		fake->session = SESSION;
	assert_true(ledger_fake_write(fake, folder_fd));
}

static void scan_and_bury(void)
{
	seep_session_scan(&session);
	seep_session_look(&session);
	seep_session_bury(&session);
}

/* @closing: nobody is waited for any more. */
static struct seep_image *next_of(bool closing)
{
	struct seep_image *image;

	session.is_closing = closing;
	image = seep_session_next(&session);
	session.is_closing = false;
	return image;
}

static struct seep_image *next(void)
{
	struct seep_image *image = next_of(true);

	if (image)
		image->state = SEEP_IMAGE_FINISHING;
	return image;
}

static void close_small(struct seep_image *image, uint64_t allocs)
{
	const struct seep_profile_forked own = { .processes = 1, .allocs = allocs };

	seep_forked_add(&image->forked, &own);
	seep_session_close(&session, image, false, false);
}

static void close_recorded(struct seep_image *image)
{
	seep_session_close(&session, image, true, false);
}

#define SESSION_TEST(name) TEST_WITH(set_up, name, tear_down)

SESSION_TEST(another_sessions_ledgers_are_not_touched)
{
	struct ledger_fake other = { .session = 78 }, none = { .session = UINT64_MAX };

	write_dead(&other, MAIN_PID, 1, 0);
	write_dead(&none, CHILD_PID, 1, 0);
	scan_and_bury();
	assert_null(session.images);
	assert_int_equal(faccessat(folder_fd, other.file_name, F_OK, 0), 0);
}

SESSION_TEST(a_ledger_is_met_once)
{
	struct ledger_fake fake = { 0 };

	write_dead(&fake, MAIN_PID, 1, 0);
	scan_and_bury();
	scan_and_bury();
	assert_non_null(session.images);
	assert_null(session.images->next);
}

SESSION_TEST(a_childs_sums_go_to_its_parent_before_the_parent_is_closed)
{
	struct ledger_fake parent = { 0 }, child = { .origin = LEDGER_ORIGIN_FORK };
	struct ledger_fake grandchild = { .origin = LEDGER_ORIGIN_FORK };
	struct seep_image *image;

	write_dead(&parent, MAIN_PID, 1, 0);
	child.parent = parent.file_name;
	write_dead(&child, CHILD_PID, MAIN_PID, 0);
	grandchild.parent = child.file_name;
	write_dead(&grandchild, ORPHAN_PID, 1, 0);
	scan_and_bury();
	image = next();
	assert_int_equal(image->pid, ORPHAN_PID);
	assert_null(next());
	close_recorded(image);
	image = next();
	assert_int_equal(image->pid, CHILD_PID);
	assert_int_equal(image->child_count, 1);
	close_small(image, 11);
	image = next();
	assert_int_equal(image->pid, MAIN_PID);
	assert_int_equal(image->forked.processes, 1);
	assert_int_equal(image->forked.allocs, 11);
	/* What a child without a recording knows of its own children is its parent's to tell. */
	assert_int_equal(image->child_count, 1);
	assert_int_equal(image->children[0], ORPHAN_PID);
	close_recorded(image);
	assert_null(session.images);
}

SESSION_TEST(orphans_are_counted_to_the_main_program)
{
	struct ledger_fake parent = { 0 }, orphan = { .origin = LEDGER_ORIGIN_FORK };
	struct seep_image *image;

	write_dead(&parent, MAIN_PID, 1, 0);
	orphan.parent = "long.1.1.0.ledger";
	write_dead(&orphan, ORPHAN_PID, 1, 0);
	scan_and_bury();
	close_small(next(), 5);
	image = next();
	assert_true(image->is_main);
	assert_int_equal(image->forked.allocs, 5);
}

/* The parent had no ledger; later its pid is that of a child of its child. */
SESSION_TEST(a_parents_pid_that_comes_again_holds_up_no_recording)
{
	struct ledger_fake first = { 0 }, child = { 0 };
	struct ledger_fake late = { .origin = LEDGER_ORIGIN_FORK };
	struct seep_image *image;

	write_dead(&first, MAIN_PID, 1, 0);
	write_dead(&child, CHILD_PID, ORPHAN_PID, 0);
	scan_and_bury();
	late.parent = child.file_name;
	write_dead(&late, ORPHAN_PID, CHILD_PID, 1);
	scan_and_bury();
	image = next();
	assert_non_null(image);
	assert_int_equal(image->pid, ORPHAN_PID);
	close_small(image, 7);
	image = next();
	assert_int_equal(image->pid, CHILD_PID);
	assert_int_equal(image->forked.allocs, 7);
	close_recorded(image);
	assert_true(next()->is_main);
}

SESSION_TEST(the_last_image_of_the_main_process_is_the_main_one)
{
	struct ledger_fake first = { 0 }, last = { 0 };
	struct seep_image *image;

	write_dead(&last, MAIN_PID, 1, 1);
	write_dead(&first, MAIN_PID, 1, 0);
	scan_and_bury();
	seep_session_ended(&session, MAIN_PID, 0);
	image = next();
	assert_int_equal(image->created_ns, 1000);
	assert_true(image->replaced);
	assert_false(image->has_status);
	close_small(image, 3);
	image = next();
	assert_ptr_equal(image, seep_session_main(&session));
	assert_int_equal(image->forked.allocs, 3);
}

SESSION_TEST(the_main_program_is_closed_only_at_the_end)
{
	struct ledger_fake parent = { 0 };

	write_dead(&parent, MAIN_PID, 1, 0);
	scan_and_bury();
	assert_null(next_of(false));
	assert_non_null(next_of(true));
}

SESSION_TEST(a_status_that_came_before_the_ledger_is_kept)
{
	struct ledger_fake child = { 0 };

	seep_session_ended(&session, CHILD_PID, 3 << 8);
	for (uint32_t i = 0; i + 1 < SEEP_SESSION_STATUS_KEPT; i++) {
		seep_session_ended(&session, 1000 + i, 0);
	}
	write_dead(&child, CHILD_PID, MAIN_PID, 0);
	scan_and_bury();
	assert_true(session.images->has_status);
	assert_int_equal(session.images->wait_status, 3 << 8);
}

SESSION_TEST(not_following_leaves_out_all_but_the_main_program)
{
	struct ledger_fake parent = { 0 }, child = { 0 };
	struct seep_image *image;

	plan.follow = false;
	write_dead(&parent, MAIN_PID, 1, 0);
	write_dead(&child, CHILD_PID, MAIN_PID, 0);
	scan_and_bury();
	image = next();
	assert_int_equal(image->pid, CHILD_PID);
	assert_false(image->followed);
	close_small(image, 0);
	image = next();
	assert_true(image->followed);
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	const struct timespec timeout = { .tv_sec = 10 };

	(void)syscall(SYS_futex, word, operation, value, &timeout, NULL, 0);
}

/* As the runtime at exit: 0 if it was answered within the time. */
static int end_as_the_runtime(uint8_t *map)
{
	struct ledger_control *control = (void *)(map + LEDGER_PAGE_BYTES);
	struct ledger_state *state = (void *)(map + 2 * LEDGER_PAGE_BYTES);

	atomic_store(&state->ended, LEDGER_ENDED_EXIT);
	atomic_fetch_add(&state->attention, 1);
	futex(&state->attention, FUTEX_WAKE, 1000);
	/* A recorder that comes wakes it, too. */
	for (int i = 0; i < 2 && !atomic_load(&control->exit_ack); i++)
		futex(&control->exit_ack, FUTEX_WAIT, 0);
	return atomic_load(&control->exit_ack) ? 0 : 1;
}

static struct seep_image *by_pid(uint32_t pid)
{
	for (struct seep_image *image = session.images; image; image = image->next)
		if (image->pid == pid)
			return image;
	fail();
	abort();
}

/* A child that makes its ledger, tells so, and ends when a byte comes. */
static pid_t start_child(struct ledger_fake *fake, int *ret_go)
{
	int ready[2], go[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct seep_procfs_stat stat;
		uint8_t *map = NULL;

		(void)close(go[1]);
		fake->exe = "/bin/prog";
		fake->pid = (uint32_t)getpid();
		fake->session = SESSION;
		if (seep_procfs_stat(fake->pid, &stat)) {
			fake->start_ticks = stat.start_ticks;
			map = ledger_fake_map(fake, folder_fd);
		}
		(void)!write(ready[1], map ? "y" : "n", 1);
		(void)!read(go[0], &byte, 1);
		_exit(map ? end_as_the_runtime(map) : 2);
	}
	(void)close(ready[1]);
	(void)close(go[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	(void)close(ready[0]);
	*ret_go = go[1];
	return pid;
}

/* It was answered, so its status is 0. */
static void let_end(pid_t pid, int go)
{
	int status;

	(void)close(go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

SESSION_TEST(a_process_at_its_end_is_answered_and_sampled)
{
	struct ledger_fake fake = { .allocs = 100, .frees = 40 };
	const struct seep_profile_sample *last;
	struct seep_image *image;
	int go;
	pid_t pid;

	pid = start_child(&fake, &go);
	session.main_pid = (uint32_t)pid;
	scan_and_bury();
	assert_int_equal(seep_session_live(&session), 1);
	assert_null(next_of(true));
	let_end(pid, go);
	seep_session_ended(&session, (uint32_t)pid, 0);
	scan_and_bury();
	image = next();
	assert_non_null(image);
	assert_true(image->has_status);
	assert_true(image->gathered.timeline.count >= 1);
	last = &image->gathered.timeline.samples[image->gathered.timeline.count - 1];
	assert_int_equal(last->allocs, 100);
	assert_int_equal(last->frees, 40);
	assert_int_equal(last->live_bytes, 600);
	assert_true(last->rss_bytes > 0);
	assert_true(image->gathered.peak_rss_bytes >= last->rss_bytes);
}

SESSION_TEST(a_process_that_is_detached_from_is_buried_while_it_lives)
{
	struct ledger_fake fake = { .origin = LEDGER_ORIGIN_ATTACH, .allocs = 5 };
	struct ledger_state *words;
	struct seep_image *image;
	int go;
	pid_t pid;

	pid = start_child(&fake, &go);
	scan_and_bury();
	assert_null(next_of(true));
	words = seep_watch_ledger(session.images->watch)->state;
	atomic_store(&words->ended, LEDGER_ENDED_DETACH);
	scan_and_bury();
	image = next_of(true);
	assert_non_null(image);
	assert_int_equal(image->pid, pid);
	assert_false(image->has_status);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)close(go);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Many end before that, and a thread costs more than they do. */
SESSION_TEST(a_forked_process_is_followed_after_some_time)
{
	struct ledger_fake fake = { .origin = LEDGER_ORIGIN_FORK, .allocs = 3 };
	const struct ledger_control *control;
	struct seep_image *image;
	uint64_t at_ns;
	int go;
	pid_t pid;

	pid = start_child(&fake, &go);
	scan_and_bury();
	image = session.images;
	assert_non_null(image);
	at_ns = image->follow_at_ns;
	control = seep_watch_ledger(image->watch)->control;
	assert_int_equal(seep_session_follow(&session, at_ns - 1), at_ns);
	assert_int_equal(atomic_load(&control->recorder_pid), 0);
	assert_true(seep_session_follow(&session, at_ns) == UINT64_MAX);
	while (!atomic_load(&control->recorder_pid))
		(void)sched_yield();
	assert_int_equal(atomic_load(&control->recorder_pid), getpid());
	assert_true(seep_session_follow(&session, UINT64_MAX) == UINT64_MAX);
	assert_int_equal(problems.count, 0);
	let_end(pid, go);
	scan_and_bury();
	assert_true(next()->gathered.peak_rss_bytes > 0);
}

SESSION_TEST(one_that_ends_before_has_a_sample)
{
	struct ledger_fake parent = { 0 }, child = { .origin = LEDGER_ORIGIN_FORK, .allocs = 7 };
	const struct seep_timeline *timeline;
	struct seep_image *image;

	write_dead(&parent, MAIN_PID, 1, 0);
	child.parent = parent.file_name;
	write_dead(&child, CHILD_PID, MAIN_PID, 0);
	scan_and_bury();
	assert_true(seep_session_follow(&session, UINT64_MAX) == UINT64_MAX);
	image = next();
	assert_int_equal(image->pid, CHILD_PID);
	timeline = &image->gathered.timeline;
	assert_int_equal(timeline->count, 1);
	assert_int_equal(timeline->samples[0].allocs, 7);
	close_small(image, 7);
}

SESSION_TEST(a_process_that_is_left_does_not_wait_and_keeps_its_ancestors)
{
	struct ledger_fake parent = { 0 }, fake = { .origin = LEDGER_ORIGIN_FORK };
	struct seep_image *image;
	int go;
	pid_t pid;

	write_dead(&parent, MAIN_PID, 1, 0);
	fake.parent = parent.file_name;
	pid = start_child(&fake, &go);
	scan_and_bury();
	assert_null(next_of(true));
	for (image = session.images; image; image = image->next) {
		if (image->state == SEEP_IMAGE_LIVE)
			seep_session_leave(&session, image);
	}
	image = next();
	assert_true(image->is_main);
	assert_true(image->keep_ledger);
	assert_int_equal(seep_session_live(&session), 0);
	let_end(pid, go);
}

/* Ours, as orphans are, and without a ledger; ends when it is killed. */
static pid_t fork_small(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (pid == 0)
		(void)pause();
	return pid;
}

static void reap(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

SESSION_TEST(a_ledger_that_a_small_child_may_count_in_is_not_closed)
{
	struct ledger_fake parent = { 0 }, child = { 0 };
	struct seep_image *image;
	pid_t small;

	write_dead(&parent, MAIN_PID, 1, 0);
	write_dead(&child, CHILD_PID, MAIN_PID, 0);
	small = fork_small();
	scan_and_bury();
	image = by_pid(CHILD_PID);
	assert_true(session.waits_for_small);
	assert_null(next_of(false));
	assert_ptr_equal(next_of(true), image);

	/* At this age it gets a ledger of its own. */
	image->dead_ns -= SEEP_SESSION_SMALL_NS;
	seep_session_bury(&session);
	assert_false(session.waits_for_small);
	assert_ptr_equal(next_of(false), image);

	image->dead_ns += SEEP_SESSION_SMALL_NS;
	seep_session_bury(&session);
	assert_null(next_of(false));
	reap(small);
	seep_session_bury(&session);
	assert_false(session.waits_for_small);
	assert_ptr_equal(next_of(false), image);
}

SESSION_TEST(children_with_a_ledger_and_the_main_program_are_not_waited_for)
{
	struct ledger_fake dead = { 0 }, fake = { 0 };
	int go;
	pid_t main, pid;

	main = fork_small();
	session.main_pid = (uint32_t)main;
	pid = start_child(&fake, &go);
	write_dead(&dead, CHILD_PID, MAIN_PID, 0);
	scan_and_bury();
	assert_false(session.waits_for_small);
	assert_int_equal(next_of(false)->pid, CHILD_PID);
	session.main_pid = MAIN_PID;
	seep_session_bury(&session);
	assert_true(session.waits_for_small);
	plan.follow = false;
	seep_session_bury(&session);
	assert_false(session.waits_for_small);
	reap(main);
	reap(pid);
	(void)close(go);
}

/* Goes on with its child, as one that called exec does. */
static pid_t fork_parent(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* Ready only then: one that outlives its parent keeps the test's output open. */
		if (fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)!write(ready[1], "y", 1);
		}
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

SESSION_TEST(an_image_that_ended_by_exec_waits_for_children_of_its_process)
{
	struct ledger_fake before = { 0 }, after = { 0 }, *fakes[] = { &before, &after };
	pid_t pid = fork_parent();
	struct seep_procfs_stat stat;

	assert_true(seep_procfs_stat((uint32_t)pid, &stat));
	for (uint32_t i = 0; i < 2; i++) {
		*fakes[i] = (struct ledger_fake){
			.exe = "/bin/prog",
			.pid = (uint32_t)pid,
			.start_ticks = stat.start_ticks,
			.instance = i,
			.session = SESSION,
			.created_ns = 1000 + i,
		};
		assert_true(ledger_fake_write(fakes[i], folder_fd));
	}
	scan_and_bury();
	assert_int_equal(seep_session_live(&session), 1);
	assert_true(session.waits_for_small);
	assert_null(next_of(false));
	reap(pid);
	scan_and_bury();
	assert_false(session.waits_for_small);
	assert_non_null(next_of(false));
}

/* A kill leaves no time for anything: the counts are read from what is left. */
SESSION_TEST(a_killed_process_is_sampled_once_more)
{
	struct ledger_fake fake = { .allocs = 10 };
	struct seep_image *image;
	int status, go;
	pid_t pid;

	pid = start_child(&fake, &go);
	scan_and_bury();
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(go);
	scan_and_bury();
	image = next();
	assert_non_null(image);
	assert_false(image->has_status);
	assert_true(image->gathered.timeline.count >= 1);
	assert_int_equal(
		image->gathered.timeline.samples[image->gathered.timeline.count - 1].allocs, 10);
}

/* As where the limit of descriptors is low. */
SESSION_TEST(what_there_is_no_room_for_is_met_when_others_have_ended)
{
	struct ledger_fake parent = { 0 }, child = { 0 };
	size_t count = 0;

	write_dead(&parent, MAIN_PID, 1, 0);
	write_dead(&child, CHILD_PID, MAIN_PID, 0);
	session.room = 1;
	seep_session_scan(&session);
	assert_int_equal(seep_session_live(&session), 1);
	assert_true(session.is_behind);
	seep_session_look(&session);
	seep_session_bury(&session);
	scan_and_bury();
	assert_false(session.is_behind);
	for (const struct seep_image *image = session.images; image; image = image->next)
		count++;
	assert_int_equal(count, 2);
}

/* SPDX-License-Identifier: MIT */
/*
 * System calls that were interrupted by a stop go on: their result is that of a plain run, and what
 * they still wait for is what was left.
 */
#include "stop_target.h"
#include "target/injection.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>

enum { LONG_MS = 400 };

static int pipe_ends[2], sockets[2], listener, locked[2], message_queue, semaphore;
static struct sockaddr_in address;
static uint32_t *futex_word;

static const struct timespec long_time = { .tv_nsec = LONG_MS * 1000000L };

/* ---- calls, made by the target ------------------------------------------------------------ */

static long call_nanosleep(void)
{
	return nanosleep(&long_time, NULL);
}

static long call_clock_nanosleep(void)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += long_time.tv_nsec;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static long call_poll_time(void)
{
	return poll(NULL, 0, LONG_MS);
}

static long call_ppoll_time(void)
{
	return ppoll(NULL, 0, &long_time, NULL);
}

static long call_select_time(void)
{
	struct timeval time = { .tv_usec = LONG_MS * 1000L };

	return select(0, NULL, NULL, NULL, &time);
}

static long call_futex_time(void)
{
	return syscall(SYS_futex, futex_word, FUTEX_WAIT, 0, &long_time, NULL, 0);
}

static long call_futex(void)
{
	return syscall(SYS_futex, futex_word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long call_read(void)
{
	char text[10];

	return read(pipe_ends[0], text, sizeof(text));
}

static long call_poll(void)
{
	struct pollfd fd = { pipe_ends[0], POLLIN, 0 };

	return poll(&fd, 1, 100000) * 100 + fd.revents;
}

static int epoll_of_pipe(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	(void)epoll_ctl(fd, EPOLL_CTL_ADD, pipe_ends[0], &event);
	return fd;
}

static long call_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_of_pipe(), &event, 1, -1);
}

static long call_epoll_time(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_of_pipe(), &event, 1, 100000);
}

static long call_recv(void)
{
	char text[10];

	return recv(sockets[0], text, sizeof(text), 0);
}

static long call_recv_time(void)
{
	const struct timeval time = { .tv_sec = 100 };

	(void)setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	return call_recv();
}

static long call_accept(void)
{
	return accept(listener, NULL, NULL) >= 0;
}

static void count_signal(int number)
{
	(void)number;
	shared->signals++;
}

static void handle_usr1(void)
{
	const struct sigaction action = { .sa_handler = count_signal };

	(void)sigaction(SIGUSR1, &action, NULL);
}

/* As plain: -1 with EINTR, once a signal came. */
static long call_pause(void)
{
	handle_usr1();
	return pause() * 1000 - errno;
}

static long call_sigsuspend(void)
{
	sigset_t usr1, none;
	long rc;

	handle_usr1();
	(void)sigemptyset(&none);
	(void)sigemptyset(&usr1);
	(void)sigaddset(&usr1, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &usr1, NULL);
	/* Blocked before and after, let in within. */
	rc = sigsuspend(&none) * 1000 - errno;
	(void)sigprocmask(SIG_BLOCK, NULL, &none);
	return rc * 10 + sigismember(&none, SIGUSR1);
}

static long call_sigwait(void)
{
	sigset_t usr1;

	(void)sigemptyset(&usr1);
	(void)sigaddset(&usr1, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &usr1, NULL);
	return sigwaitinfo(&usr1, NULL);
}

static long call_flock(void)
{
	return flock(locked[1], LOCK_EX);
}

static long call_semop(void)
{
	struct sembuf down = { .sem_op = -1 };

	return semop(semaphore, &down, 1);
}

static long call_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return msgrcv(message_queue, &message, sizeof(message.text), 0, 0);
}

static long call_wait(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		char byte;

		(void)!read(pipe_ends[0], &byte, 1);
		_exit(7);
	}
	return (wait(&status) == child) * 1000 + WEXITSTATUS(status);
}

static void read_in_handler(int number)
{
	(void)number;
	shared->count[1] = (uint64_t)call_read();
}

/* Within a signal handler, which has interrupted a call that is then taken up again. */
static long call_in_handler(void)
{
	const struct sigaction action = { .sa_handler = read_in_handler, .sa_flags = SA_RESTART };
	long rc;

	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(1);
	rc = recv(sockets[0], &(char){ 0 }, 1, 0);
	return rc * 100 + (long)shared->count[1];
}

/* ---- what ends them ----------------------------------------------------------------------- */

static void nothing(pid_t pid)
{
	(void)pid;
}

static void write_pipe(pid_t pid)
{
	(void)pid;
	assert_int_equal(write(pipe_ends[1], "abc", 3), 3);
}

static void write_socket(pid_t pid)
{
	(void)pid;
	assert_int_equal(write(sockets[1], "abcd", 4), 4);
}

static void write_both(pid_t pid)
{
	write_pipe(pid);
	write_socket(pid);
}

static void connect_there(pid_t pid)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)pid;
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)close(fd);
}

static void send_usr1(pid_t pid)
{
	assert_int_equal(kill(pid, SIGUSR1), 0);
}

static void wake_futex(pid_t pid)
{
	(void)pid;
	/* Perhaps it is just on its way back. */
	WAIT_FOR(syscall(SYS_futex, futex_word, FUTEX_WAKE, 1, NULL, NULL, 0) == 1);
}

static void unlock(pid_t pid)
{
	(void)pid;
	assert_int_equal(flock(locked[0], LOCK_UN), 0);
}

static void raise_semaphore(pid_t pid)
{
	struct sembuf up = { .sem_op = 1 };

	(void)pid;
	assert_int_equal(semop(semaphore, &up, 1), 0);
}

static void send_message(pid_t pid)
{
	const struct {
		long type;
		char text[8];
	} message = { 1, "abcde" };

	(void)pid;
	assert_int_equal(msgsnd(message_queue, &message, 5, 0), 0);
}

/* ---- the cases ---------------------------------------------------------------------------- */

static const struct blocking_call {
	const char *name;
	long (*call)(void);
	int number; /* as /proc/PID/syscall has it, once it is in there */
	void (*end)(pid_t pid);
	long result;
	int error;
} calls[] = {
	/* These end by themselves, while they are interrupted all the time. */
	{ "nanosleep", call_nanosleep, SYS_clock_nanosleep, nothing, 0, 0 },
	{ "clock_nanosleep", call_clock_nanosleep, SYS_clock_nanosleep, nothing, 0, 0 },
	{ "poll, time", call_poll_time, SYS_poll, nothing, 0, 0 },
	{ "ppoll, time", call_ppoll_time, SYS_ppoll, nothing, 0, 0 },
	{ "select, time", call_select_time, SYS_pselect6, nothing, 0, 0 },
	{ "futex, time", call_futex_time, SYS_futex, nothing, -1, ETIMEDOUT },
	/* These by what comes. */
	{ "futex", call_futex, SYS_futex, wake_futex, 0, 0 },
	{ "read", call_read, SYS_read, write_pipe, 3, 0 },
	{ "poll", call_poll, SYS_poll, write_pipe, 101, 0 },
	{ "epoll_wait", call_epoll, SYS_epoll_wait, write_pipe, 1, 0 },
	{ "epoll_wait, time", call_epoll_time, SYS_epoll_wait, write_pipe, 1, 0 },
	{ "recv", call_recv, SYS_recvfrom, write_socket, 4, 0 },
	{ "recv, time", call_recv_time, SYS_recvfrom, write_socket, 4, 0 },
	{ "accept", call_accept, SYS_accept, connect_there, 1, 0 },
	{ "pause", call_pause, SYS_pause, send_usr1, -1000 - EINTR, EINTR },
	{ "sigsuspend", call_sigsuspend, SYS_rt_sigsuspend, send_usr1, (-1000 - EINTR) * 10 + 1,
	  EINTR },
	{ "sigwaitinfo", call_sigwait, SYS_rt_sigtimedwait, send_usr1, SIGUSR1, 0 },
	{ "flock", call_flock, SYS_flock, unlock, 0, 0 },
	{ "semop", call_semop, SYS_semtimedop, raise_semaphore, 0, 0 },
	{ "msgrcv", call_msgrcv, SYS_msgrcv, send_message, 5, 0 },
	{ "wait", call_wait, SYS_wait4, write_pipe, 1007, 0 },
	{ "in a handler", call_in_handler, SYS_read, write_both, 103, 0 },
};

static const struct blocking_call *chosen;

static void make_call(void)
{
	errno = 0;
	shared->ready = 1;
	shared->result = chosen->call();
	shared->error = errno;
	shared->done = 1;
	for (;;)
		(void)pause();
}

static void prepare(void)
{
	const char *name = "/tmp/test_stop_calls.lock";
	socklen_t bytes = sizeof(address);

	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	address = (struct sockaddr_in){ .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	for (int i = 0; i < 2; i++)
		locked[i] = open(name, O_RDWR | O_CREAT, 0600);
	assert_int_equal(flock(locked[0], LOCK_EX), 0);
	(void)unlink(name);
	message_queue = msgget(IPC_PRIVATE, 0600);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	*futex_word = 0;
}

static void clean_up(void)
{
	const int all[] = { pipe_ends[0], pipe_ends[1], sockets[0], sockets[1],
			    listener,	  locked[0],	locked[1] };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		(void)close(all[i]);
	(void)msgctl(message_queue, IPC_RMID, NULL);
	(void)semctl(semaphore, 0, IPC_RMID);
}

static int call_of(pid_t pid)
{
	char text[4096];

	read_proc(pid, "syscall", text);
	return *text >= '0' && *text <= '9' ? atoi(text) : -1;
}

static void check_call(void (*disturb)(pid_t pid))
{
	pid_t pid;

	prepare();
	pid = start_target(make_call);
	WAIT_FOR(call_of(pid) == chosen->number && state_of(pid) == 'S');
	for (int i = 0; i < 10; i++) {
		disturb(pid);
		nap();
	}
	if (chosen->end != nothing)
		assert_int_equal(shared->done, 0);
	chosen->end(pid);
	for (int i = 0; i < TARGET_WAIT_MS && !shared->done; i++) {
		disturb(pid);
		nap();
	}
	if (!shared->done || shared->result != chosen->result || shared->error != chosen->error)
		fail_msg("%s: %s, result %ld, wanted %ld, errno %d, wanted %d", chosen->name,
			 shared->done ? "done" : "not done", shared->result, chosen->result,
			 shared->error, chosen->error);
	end_target(pid);
	clean_up();
}

static void check_calls(void (*disturb)(pid_t pid))
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		chosen = &calls[i];
		check_call(disturb);
	}
}

static void just_stop(pid_t pid)
{
	seep_stop_release(stop_target(pid));
}

static void stop_and_call(pid_t pid)
{
	const uint64_t none[6] = { 0 };
	struct seep_stopped *stopped = stop_target(pid);
	const pid_t tid = stopped->threads[0].tid;
	struct seep_injection injection;
	int64_t value = 0;

	assert_int_equal(seep_injection_begin(&injection, tid, stopped->call_site, NULL), 0);
	assert_int_equal(seep_injection_call(&injection, SYS_getppid, none, &value, NULL), 0);
	seep_injection_end(&injection);
	assert_int_equal(value, getpid());
	seep_stop_release(stopped);
}

TEST(the_cases_are_right)
{
	check_calls(nothing);
}

TEST(calls_go_on_after_a_stop)
{
	check_calls(just_stop);
}

TEST(calls_go_on_after_a_call_in_their_place)
{
	check_calls(stop_and_call);
}

TEST(calls_go_on_after_a_copy)
{
	check_calls(copy_target);
}

int main(void)
{
	futex_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return unit_run(NULL, NULL);
}

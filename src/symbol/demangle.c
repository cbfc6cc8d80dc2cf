/* SPDX-License-Identifier: MIT */
/*
 * libiberty's callback interface is used because it can be left in the middle, by a jump: out of
 * the callback where the text of an endless name grows, out of a timer's signal where nothing comes
 * (a pack of types in each other takes 2^n steps). Neither demangler holds memory then, but for
 * Rust's, for names in other alphabets.
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	NAME_MAX_BYTES = 4096,
	TEXT_MAX_BYTES = 16 << 10,
	QUICK_BYTES = 128, /* of a name that is done in some milliseconds, whatever it is */
	TIME_MAX_NS = 100000000,
};

struct output {
	jmp_buf too_much;
	size_t used;
	char text[TEXT_MAX_BYTES];
};

static void collect(const char *text, size_t bytes, void *opaque)
{
	struct output *out = opaque;

	if (bytes >= sizeof(out->text) - out->used)
		longjmp(out->too_much, 1);
	memcpy(out->text + out->used, text, bytes);
	out->used += bytes;
}

/* Whose time is measured; NULL: nobody's. */
static _Thread_local struct output *volatile timed;

static void leave(int signal_number)
{
	(void)signal_number;
	if (timed)
		longjmp(timed->too_much, 1);
}

static bool demangle_into(struct output *out, const char *name, bool is_timed)
{
	/*
	 * The length is bounded already; libiberty's own limit refuses every C++ name of more than
	 * 1,024 bytes, which templates reach.
	 */
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
	bool is_done;

	if (setjmp(out->too_much)) {
		timed = NULL;
		return false;
	}
	timed = is_timed ? out : NULL;
	out->used = 0;
	/* Legacy Rust names are valid C++ ones too: Rust first, it knows its own by their hash. */
	is_done = rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, collect, out) && out->used;
	if (!is_done) {
		out->used = 0;
		is_done = cplus_demangle_v3_callback(name, options, collect, out) && out->used;
	}
	timed = NULL;
	return is_done;
}

/* Of Rust's "u10bcher_kva", whose letters are put together in memory. */
static bool has_other_letters(const char *name)
{
	for (const char *at = name; (at = strchr(at, 'u')) != NULL; at++)
		if (at[1] >= '0' && at[1] <= '9')
			return name[1] == 'R';
	return false;
}

/* Not at all where no timer is to be had, or its signal might come in malloc(). */
static bool demangle_in_time(struct output *out, const char *name)
{
	const struct itimerspec most = { .it_value.tv_nsec = TIME_MAX_NS };
	const struct sigaction action = { .sa_handler = leave, .sa_flags = SA_NODEFER };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGVTALRM };
	sigset_t set, held;
	timer_t timer;
	bool is_done;

	event._sigev_un._tid = gettid();
	if (has_other_letters(name) || timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0)
		return false;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGVTALRM);
	(void)sigaction(SIGVTALRM, &action, NULL);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, &held);
	(void)timer_settime(timer, 0, &most, NULL);
	is_done = demangle_into(out, name, true);
	(void)timer_delete(timer);
	(void)pthread_sigmask(SIG_SETMASK, &held, NULL);
	return is_done;
}

const char *seep_demangle(struct seep_arena *arena, const char *name)
{
	struct output out;
	size_t bytes;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	bytes = strnlen(name, NAME_MAX_BYTES + 1);
	if (bytes > NAME_MAX_BYTES || !(bytes > QUICK_BYTES ? demangle_in_time(&out, name)
							    : demangle_into(&out, name, false)))
		return NULL;
	return seep_arena_strndup(arena, out.text, out.used);
}

/* A number follows those that end in a dot. */
static const char *const clone_suffixes[] = { ".cold",	     ".constprop.", ".isra.", ".llvm.",
					      ".localalias", ".lto_priv.",  ".part." };

static bool is_clone_suffix(const char *at, const char *suffix)
{
	size_t bytes = strlen(suffix);

	if (strncmp(at, suffix, bytes) != 0)
		return false;
	if (suffix[bytes - 1] == '.')
		return at[bytes] >= '0' && at[bytes] <= '9';
	return at[bytes] == '\0' || at[bytes] == '.' || at[bytes] == '@';
}

size_t seep_name_base_bytes(const char *name)
{
	const char *at = name;

	while (*at && (at = strchr(at + 1, '.')) != NULL) {
		/* Rust's legacy form writes "::" as two dots. */
		if (at[-1] == '.' || at[1] == '.')
			continue;
		for (size_t i = 0; i < sizeof(clone_suffixes) / sizeof(clone_suffixes[0]); i++)
			if (is_clone_suffix(at, clone_suffixes[i]))
				return (size_t)(at - name);
	}
	return strlen(name);
}

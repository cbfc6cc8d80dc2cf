/* SPDX-License-Identifier: MIT */
/*
 * A rule names a function, without the underscores in front. It matches where that function is among
 * the innermost frames, before the first one of a module that is no runtime's: a callback or a
 * constructor of the program's in between is not the runtime. The names were found by recording
 * programs that call everything that keeps memory, with and without glibc's debug symbols: where only
 * exported names are known it is the function that the program called that tells.
 */
#include "analysis/runtime_blocks.h"

#include "analysis/function_name.h"
#include "core/glob.h"
#include "profile/verdict.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum flag {
	INSIDE = 1 << 0, /* only what functions that it calls allocate: its own is the program's */
	HELD = 1 << 1,	 /* only while something leads to it */
};

static const struct {
	const char *function;
	unsigned flags;
} rules[] = {
	{ "blocks of the loader", 0 },
	{ "initialisation of libstdc++", 0 },
	/* Buffers of streams; that of a lost stream is lost with it. */
	{ "IO_doallocbuf", HELD },
	{ "IO_file_doallocate", HELD },
	{ "IO_wfile_doallocate", HELD },
	{ "IO_fwide", 0 },
	/* Locales, messages, character sets. */
	{ "setlocale", 0 },
	{ "newlocale", INSIDE },
	{ "nl_*", 0 },
	{ "*textdomain*", 0 },
	{ "*gettext", 0 },
	{ "strerror*", 0 },
	{ "strsignal", 0 },
	{ "gconv_find_shlib", 0 },
	{ "gconv_lookup_cache", 0 },
	{ "gconv_load_c*", 0 },
	{ "gconv_read_conf", 0 },
	{ "wcsmbs_load_conv", 0 },
	{ "mbs*towcs*", 0 },
	{ "wcs*tombs*", 0 },
	{ "mbrtowc", 0 },
	{ "mbtowc", 0 },
	{ "wcrtomb", 0 },
	{ "wctomb", 0 },
	{ "btowc", 0 },
	{ "wctob", 0 },
	/* Time zones. */
	{ "tz*", 0 },
	{ "localtime*", 0 },
	{ "gmtime*", 0 },
	{ "mktime", 0 },
	{ "strftime*", 0 },
	/* The environment's array, and copies that setenv() makes. */
	{ "add_to_environ", 0 },
	{ "setenv", 0 },
	{ "putenv", 0 },
	{ "unsetenv", 0 },
	/* Users, hosts, services; with their buffers of functions that are not reentrant. */
	{ "nss_*", 0 },
	{ "getpw*", 0 },
	{ "getgrnam*", 0 },
	{ "getgrgid*", 0 },
	{ "getgrent*", 0 },
	{ "getsp*", 0 },
	{ "getsg*", 0 },
	{ "fget??ent*", 0 },
	{ "gethost*", 0 },
	{ "getserv*", 0 },
	{ "getproto*", 0 },
	{ "getnetby*", 0 },
	{ "getnetent*", 0 },
	{ "getrpc*", 0 },
	{ "getaliasby*", 0 },
	{ "getaliasent*", 0 },
	{ "getusershell", 0 },
	{ "getmntent*", 0 },
	{ "getlogin", 0 },
	{ "getpass", 0 },
	{ "ttyname", 0 },
	{ "check_pf", 0 },
	{ "res_*init", 0 },
	{ "resolv_*", 0 },
	/* What is to be called at an end or a fork. */
	{ "new_exitfn", 0 },
	{ "cxa_atexit", 0 },
	{ "cxa_at_quick_exit", 0 },
	{ "cxa_thread_atexit*", 0 },
	{ "on_exit", 0 },
	{ "register_atfork", 0 },
	{ "pthread_atfork", 0 },
	/* Threads and loading. */
	{ "pthread_setspecific", 0 },
	{ "dlerror*", 0 },
	{ "aio_enqueue_request", 0 },
	{ "gai_enqueue_request", 0 },
	/* C++. The first is that of the emergency pool of a libstdc++ that is part of a program. */
	{ "GLOBAL__sub_I_eh_alloc.cc", 0 },
	{ "GLOBAL__sub_I__ZN9__gnu_cxx9__freeres*", 0 },
	{ "std::ios_base::sync_with_stdio", 0 },
	{ "std::ios_base::Init::*", 0 },
	{ "std::locale::classic", 0 },
	{ "std::locale::_S_initialize*", 0 },
};

enum {
	LOADER_RULE = 0,
	LIBSTDCXX_RULE = 1,
	FIRST_FUNCTION = 2,
	RULES = sizeof(rules) / sizeof(rules[0]),
};

enum part { PROGRAM, LIBC, LOADER, LIBSTDCXX };

static const struct {
	const char *file;
	enum part part;
} parts[] = {
	{ "libc.so.*", LIBC },
	{ "libc-2.*", LIBC },
	/* musl's loader is its C library too. */
	{ "ld-musl-*", LIBC },
	{ "ld-linux*", LOADER },
	{ "ld-2.*", LOADER },
	{ "libpthread*.so*", LIBC },
	{ "libdl[-.]*", LIBC },
	{ "librt[-.]*", LIBC },
	{ "libresolv*.so*", LIBC },
	{ "libnss_*.so*", LIBC },
	{ "libanl*.so*", LIBC },
	{ "libstdc++.so*", LIBSTDCXX },
	{ "libgcc_s.so*", LIBSTDCXX },
};

static enum part part_of(const struct seep_profile *profile, const struct seep_profile_frame *frame)
{
	const char *path = NULL;
	const char *name;

	if (frame->module > 0 && frame->module <= profile->module_count)
		path = profile->modules[frame->module - 1].path;
	if (!path)
		return PROGRAM;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (core_glob_match((struct core_glob){ parts[i].file, strlen(parts[i].file) },
				    name, strlen(name)))
			return parts[i].part;
	return strstr(path, "/gconv/") ? LIBC : PROGRAM;
}

size_t seep_runtime_rules(void)
{
	return RULES;
}

const char *seep_runtime_rule_name(size_t rule)
{
	return rule < RULES ? rules[rule].function : "";
}

/* The rule that names the function of a frame; @innermost: it allocated itself. */
static size_t find_function(const char *function, bool innermost, bool lost)
{
	struct seep_name_part name = seep_function_name(function);

	while (name.bytes > 0 && *name.text == '_') {
		name.text++;
		name.bytes--;
		/* __GI___newlocale is how glibc calls its own. */
		if (name.bytes > 3 && memcmp(name.text, "GI_", 3) == 0) {
			name.text += 3;
			name.bytes -= 3;
		}
	}
	for (size_t i = FIRST_FUNCTION; i < RULES; i++) {
		const char *wanted = rules[i].function;

		if ((innermost && rules[i].flags & INSIDE) || (lost && rules[i].flags & HELD))
			continue;
		if ((*wanted == *name.text || *wanted == '*') &&
		    core_glob_match((struct core_glob){ wanted, strlen(wanted) }, name.text,
				    name.bytes))
			return i;
	}
	return SIZE_MAX;
}

size_t seep_runtime_rule_find(const struct seep_profile *profile,
			      const struct seep_profile_context *context, unsigned verdict)
{
	const bool lost = verdict == SEEP_VERDICT_LOST || verdict == SEEP_VERDICT_LOST_WITH ||
			  verdict == SEEP_VERDICT_LOST_CYCLE;
	enum part before = PROGRAM;

	for (uint32_t i = 0; i < context->stack_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[context->stack[i].frame];
		const enum part part = part_of(profile, frame);
		size_t rule;

		if (i == 0 && part == LOADER)
			return LOADER_RULE;
		/* The loader calls nothing of it but what initialises it, and ends it. */
		if (before == LIBSTDCXX && part == LOADER)
			return LIBSTDCXX_RULE;
		if (part == PROGRAM && i > 0)
			return SIZE_MAX;
		rule = frame->function ? find_function(frame->function, i == 0, lost) : SIZE_MAX;
		if (rule != SIZE_MAX &&
		    (part != PROGRAM || strncmp(rules[rule].function, "GLOBAL_", 7) == 0))
			return rule;
		if (part == PROGRAM)
			return SIZE_MAX;
		before = part;
	}
	return SIZE_MAX;
}

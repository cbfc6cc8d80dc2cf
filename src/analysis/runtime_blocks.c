/* SPDX-License-Identifier: MIT */
/*
 * A rule names a function, without the underscores in front. It matches where that function is
 * among the innermost frames, before the first one of a module that is no runtime's: a callback or
 * a constructor of the program's in between is not the runtime. The names were found by recording
 * programs that call everything that keeps memory, with and without glibc's debug symbols: where
 * only exported names are known it is the function that the program called that tells.
 */
#include "analysis/runtime_blocks.h"

#include "analysis/function_name.h"
#include "base/path.h"
#include "core/glob.h"
#include "profile/verdict.h"

#include <stdint.h>
#include <string.h>

/* What comes before a name: */
enum {
	INSIDE = '>', /* only what functions that it calls allocate: its own is the program's */
	HELD = '?',   /* only while something leads to it: lost with what is the program's */
};

/* clang-format off */
static const char *const rules[] = {
	"blocks of the loader", "initialisation of libstdc++",
	/* Buffers of streams. */
	"?IO_doallocbuf", "?IO_file_doallocate", "?IO_wfile_doallocate", "IO_fwide",
	/* Locales and messages. */
	"setlocale", ">newlocale", "nl_*", "*textdomain*", "*gettext", "strerror*", "strsignal",
	/* Character sets. */
	"gconv_find_shlib", "?gconv_lookup_cache", "gconv_load_c*",
	"gconv_read_conf", "wcsmbs_load_conv", "mbs*towcs*", "wcs*tombs*", "mbrtowc", "mbtowc",
	"wcrtomb", "wctomb", "btowc", "wctob",
	/* Time zones. */
	"tz*", "localtime*", "gmtime*", "mktime", "strftime*",
	/* The environment's array, and copies that setenv() makes. */
	"add_to_environ", "setenv", "putenv", "unsetenv",
	/* Users, hosts, services; with their buffers of functions that are not reentrant. */
	"nss_*", "getpw*", "getgrnam*", "getgrgid*", "getgrent*", "getsp*", "getsg*",
	"fget??ent*", "gethost*", "getserv*", "getproto*", "getnetby*", "getnetent*", "getrpc*",
	"getaliasby*", "getaliasent*", "getusershell", "getmntent*", "getlogin", "getpass",
	"ttyname", "check_pf", "res_*init", "resolv_*",
	/* What is to be called at an end or a fork. */
	"new_exitfn", "cxa_atexit", "cxa_at_quick_exit", "cxa_thread_atexit*", "on_exit",
	"register_atfork", "pthread_atfork",
	/* Threads and loading. */
	"pthread_setspecific", "dlerror*", "aio_enqueue_request", "gai_enqueue_request",
	/* C++. The first is that of the emergency pool of a libstdc++ that is part of a program. */
	"GLOBAL__sub_I_eh_alloc.cc", "GLOBAL__sub_I__ZN9__gnu_cxx9__freeres*",
	"std::ios_base::sync_with_stdio", "std::ios_base::Init::*", "std::locale::classic",
	"std::locale::_S_initialize*",
	/* tcmalloc's object, of which nothing but a tagged word is kept. */
	"MallocExtension::*",
};
/* clang-format on */

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
	{ "libtcmalloc*.so*", LIBSTDCXX },
};

static enum part part_of(const struct seep_profile *profile, const struct seep_profile_frame *frame)
{
	const char *path = seep_profile_frame_path(profile, frame);
	const char *name = path ? seep_path_base(path) : NULL;

	if (!path)
		return PROGRAM;
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
	return rules[rule] + (*rules[rule] == INSIDE || *rules[rule] == HELD);
}

/* The rule that names the function of a frame. */
static size_t find_function(const char *function)
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
		const char *wanted = seep_runtime_rule_name(i);

		if (core_glob_match((struct core_glob){ wanted, strlen(wanted) }, name.text,
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
		size_t rule = SIZE_MAX;

		if (i == 0 && part == LOADER)
			return LOADER_RULE;
		/* The loader calls nothing of it but what initialises it, and ends it. */
		if (before == LIBSTDCXX && part == LOADER)
			return LIBSTDCXX_RULE;
		if (frame->function && (part != PROGRAM || i == 0))
			rule = find_function(frame->function);
		if (rule != SIZE_MAX && *rules[rule] == HELD && lost)
			return SIZE_MAX;
		/* In a library that is linked into the program names tell that are its alone. */
		if (rule != SIZE_MAX && !(*rules[rule] == INSIDE && i == 0) &&
		    (part != PROGRAM || seep_begins_with(rules[rule], "GLOBAL_")))
			return rule;
		if (part == PROGRAM)
			return SIZE_MAX;
		before = part;
	}
	return SIZE_MAX;
}

/* It is among the first that a process allocates. */
enum { POOL_CONTEXTS = 256 };

bool seep_runtime_is_pool(const struct seep_profile *profile,
			  const struct seep_profile_frame *frame)
{
	if (frame->function != NULL)
		return strcmp(frame->function, "_GLOBAL__sub_I_eh_alloc.cc") == 0;
	if (part_of(profile, frame) != LIBSTDCXX)
		return false;
	for (uint32_t i = 0; i < profile->context_count && i < POOL_CONTEXTS; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];

		if (context->stack_count > 0 &&
		    &profile->frames[context->stack[0].frame] == frame &&
		    seep_runtime_rule_find(profile, context, SEEP_VERDICT_REACHABLE) ==
			    LIBSTDCXX_RULE)
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/* The checks of a program. */
#include "base/path.h"
#include "target/doctor_checks.h"

#include <stdio.h>
#include <string.h>

#define NOTE SEEP_DOCTOR_NOTE
#define PROBLEM SEEP_DOCTOR_PROBLEM
#define OK SEEP_DOCTOR_OK

/* Libraries that provide malloc, by a part of their file name. */
static const struct {
	const char *part;
	const char *name;
} allocators[] = {
	{ "libjemalloc", "jemalloc" }, { "libtcmalloc", "tcmalloc" }, { "libmimalloc", "mimalloc" },
	{ "librpmalloc", "rpmalloc" }, { "libhoard", "Hoard" },	      { "libsnmalloc", "snmalloc" },
};

const char *seep_doctor_allocator_of(const char *path)
{
	for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++) {
		if (strstr(path, allocators[i].part))
			return allocators[i].name;
	}
	return NULL;
}

/* Who manages memory on top of malloc, or beside it, and what to do about that. */
static const struct {
	const char *program; /* beginning of the file name of what is executed, or NULL */
	const char *library; /* a part of the path of a library that it uses, or NULL */
	const char *sentence;
	const char *advice;
} managers[] = {
	{ "python", "libpython",
	  "Python takes objects up to 512 bytes from arenas of its own: their stacks show who "
	  "filled an arena, not who made the object",
	  "Set PYTHONMALLOC=malloc, and every object is an allocation." },
	{ "node", "libnode",
	  "Node keeps JavaScript's objects in a heap of its own, by mmap; native code, buffers and "
	  "the engine itself are seen",
	  "Start it with --perf-basic-prof, so that compiled functions have names." },
	{ "java", "libjvm",
	  "Java keeps its objects in a heap of its own, by mmap; native code and libraries are seen",
	  "For the virtual machine's own areas see -XX:NativeMemoryTracking=summary and jcmd." },
	{ "php", "libphp", "PHP takes what a request needs from chunks of its own, by mmap",
	  "Set USE_ZEND_ALLOC=0, and every piece is an allocation." },
	{ "beam.smp", NULL, "Erlang's allocators take carriers, and pieces from these",
	  "Start it with +Mea min, and every piece is an allocation." },
	{ NULL, "libgc.so",
	  "The Boehm collector keeps its objects in a heap of its own; what goes through malloc is "
	  "seen",
	  "" },
};

static const char *find_library(const struct seep_doctor_program *program, const char *part)
{
	for (size_t i = 0; i < program->library_count; i++) {
		if (strstr(program->libraries[i], part))
			return program->libraries[i];
	}
	return NULL;
}

/* Nothing is said about the inside: the first check has said why. */
static bool is_unknown(const struct seep_doctor_program *program)
{
	return program->problem || !program->was_read;
}

void seep_doctor_check_program(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (!program->problem && !program->was_read) {
		seep_doctor_say(finding, NOTE, "%s may be executed but not read by us",
				program->loaded);
		seep_doctor_advise(finding, "It is recorded, but has no names or lines.");
		return;
	}
	if (!program->problem) {
		seep_doctor_say(finding, OK, "%s", program->path);
		return;
	}
	seep_doctor_say_error(finding, program->problem);
	if (strstr(program->problem, "set-user-id") || strstr(program->problem, "capabilities"))
		return;
	if (!*finding->advice && strstr(program->problem, "no such program"))
		seep_doctor_advise(finding, "Give its path; names are looked up in PATH.");
	if (!*finding->advice && strstr(program->problem, "cannot execute"))
		seep_doctor_advise(finding, "Look at its permissions: ls -l, mount (noexec).");
}

void seep_doctor_check_script(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (program->problem)
		return;
	if (program->is_script)
		seep_doctor_say(finding, NOTE,
				"%s is a script: what is recorded is %s, and the programs that it "
				"starts",
				program->path, program->loaded);
	else
		seep_doctor_say(finding, OK, "It is no script");
}

void seep_doctor_check_libraries(const struct seep_doctor_facts *facts,
				 struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (is_unknown(program))
		return;
	if (program->missing_library) {
		seep_doctor_say(finding, PROBLEM, "%s needs %s, which the loader does not find",
				program->loaded, program->missing_library);
		seep_doctor_advise(finding, "Install it, or set LD_LIBRARY_PATH.");
	} else {
		seep_doctor_say(finding, OK, "%zu, and all are there", program->library_count);
	}
}

void seep_doctor_check_own_malloc(const struct seep_doctor_facts *facts,
				  struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (is_unknown(program))
		return;
	if (!program->kind.exports_malloc) {
		seep_doctor_say(finding, OK, "It has none");
		return;
	}
	seep_doctor_say(finding, PROBLEM,
			"%s has a malloc of its own, which is found before that of any library: "
			"next to nothing would be seen",
			program->loaded);
	seep_doctor_advise(finding, "Record a build that links its allocator as a shared library, "
				    "or uses the C library's.");
}

void seep_doctor_check_allocator(const struct seep_doctor_facts *facts,
				 struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (is_unknown(program))
		return;
	for (size_t i = 0; i < program->library_count; i++) {
		const char *name = seep_doctor_allocator_of(program->libraries[i]);

		if (!name)
			continue;
		seep_doctor_say(
			finding, NOTE,
			"It uses %s (%s); all is counted, requests below 16 bytes become 16", name,
			program->libraries[i]);
		return;
	}
	seep_doctor_say(finding, OK, "The C library's");
}

void seep_doctor_check_imports(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (is_unknown(program))
		return;
	if (program->kind.is_go) {
		seep_doctor_say(finding, NOTE,
				"%s is a Go program: Go takes its memory by mmap, only what C code "
				"in it allocates is seen",
				program->loaded);
		seep_doctor_advise(finding, "Use Go's own heap profile (runtime/pprof) for Go.");
		return;
	}
	seep_doctor_say(finding, OK,
			program->kind.imports_malloc || program->kind.exports_malloc
				? "It does"
				: "Only its libraries do");
}

void seep_doctor_check_manager(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;
	const char *name = program->problem ? "" : seep_path_base(program->loaded);

	if (program->problem)
		return;
	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++) {
		if (!(managers[i].program && *name &&
		      strncmp(name, managers[i].program, strlen(managers[i].program)) == 0) &&
		    !(managers[i].library && find_library(program, managers[i].library)))
			continue;
		seep_doctor_say(finding, NOTE, "%s", managers[i].sentence);
		seep_doctor_advise(finding, "%s", managers[i].advice);
		return;
	}
	seep_doctor_say(finding, OK, "None that is known");
}

void seep_doctor_check_unwind(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (is_unknown(program))
		return;
	if (program->kind.has_unwind) {
		seep_doctor_say(finding, OK, "It has .eh_frame");
		return;
	}
	seep_doctor_say(finding, NOTE,
			"%s has no .eh_frame: its stacks are followed by frame pointer, where it "
			"keeps one, and end there otherwise",
			program->loaded);
	seep_doctor_advise(finding, "Compile with -fasynchronous-unwind-tables, and do not strip "
				    ".eh_frame.");
}

void seep_doctor_check_lines(const struct seep_doctor_facts *facts,
			     struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;
	char package[512] = "";

	if (is_unknown(program))
		return;
	if (program->has_lines) {
		seep_doctor_say(finding, OK, "It has both");
		return;
	}
	seep_doctor_say(finding, NOTE, "%s has no debug information: its frames have %s",
			program->loaded,
			program->has_names ? "names, but no lines"
					   : "neither names nor lines, but for exported functions");
	if (program->package)
		(void)snprintf(package, sizeof(package),
			       "Install %s-dbgsym (or %s-dbg), which a debug archive of the "
			       "distribution has. ",
			       program->package, program->package);
	seep_doctor_advise(finding, "%s%s", package,
			   program->package ? "The figures are right without."
					    : "Compile with -g, and do not strip; the figures are "
					      "right without.");
}

void seep_doctor_check_build_id(const struct seep_doctor_facts *facts,
				struct seep_doctor_finding *finding)
{
	const struct seep_doctor_program *program = &facts->program;

	if (is_unknown(program))
		return;
	if (program->has_build_id) {
		seep_doctor_say(finding, OK, "It has one");
		return;
	}
	seep_doctor_say(finding, NOTE,
			"%s has no build-id: after it is rebuilt, an older recording cannot tell "
			"that its symbols have changed",
			program->loaded);
	seep_doctor_advise(finding, "Link with -Wl,--build-id.");
}

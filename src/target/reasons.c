/* SPDX-License-Identifier: MIT */
/*
 * The table of reasons. For each code, the first entry whose condition holds becomes the finding;
 * if none holds, the code is reported as ok. The most specific entries come first: what the program
 * is, then how it was started, then where.
 */
#include "target/reasons.h"

#include "base/units.h"
#include "base/xalloc.h"
#include "ledger/ledger.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOTE SEEP_FINDING_NOTE
#define PROBLEM SEEP_FINDING_PROBLEM
#define MIB(n) ((uint64_t)(n) << 20)

/* docs/internals/ledger.md, "Where it is", and docs/limits.md: what a ledger asks for. */
/* A process of 500 MB in all gets a ledger of the usual size; below it, a smaller one. */
#define ADDRESS_SPACE_PLENTY_BYTES MIB(4096)
/* An eighth of it holds what a few thousand stacks need. */
#define ROOM_MIN_BYTES MIB(1)
#define PLENTY_BYTES MIB(64)
#define GROUP_MIN_BYTES MIB(16)

struct seep_finding *seep_findings_open(struct seep_findings *found, const char *code)
{
	struct seep_finding *item = found->items;

	while (item < found->items + found->count && strcmp(item->code, code) != 0)
		item++;
	if (item == found->items + found->count) {
		assert(found->count < SEEP_FINDINGS_MAX);
		found->count++;
		*item = (struct seep_finding){ .code = code };
	}
	return item->level == SEEP_FINDING_OK ? item : NULL;
}

void seep_finding_say(struct seep_finding *item, enum seep_finding_level level, const char *fmt,
		      ...)
{
	char text[2 * SEEP_REASON_TEXT_BYTES], *advice;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* A name in it may hold anything, but our own advice ends it. */
	advice = strrchr(text, '\n');
	if (advice)
		*advice++ = '\0';
	(void)snprintf(item->sentence, sizeof(item->sentence), "%.1023s", text);
	(void)snprintf(item->advice, sizeof(item->advice), "%.1023s", advice ? advice : "");
	item->level = level;
}

#define REASON(...) SEEP_REASON(found, __VA_ARGS__)

/* The text of an error as a problem: what follows its last "; " is the advice. */
static void say_error(struct seep_findings *found, const char *code, const char *text,
		      const char *usual_advice)
{
	struct seep_finding *item = seep_findings_open(found, code);
	const char *cut = NULL;

	for (const char *at = text; at && (at = strstr(at, "; ")); at += 2)
		cut = at;
	if (cut)
		seep_finding_say(item, PROBLEM, "%.*s\n%s", (int)(cut - text), text, cut + 2);
	else if (text)
		seep_finding_say(item, PROBLEM, "%s\n%s", text, usual_advice);
}

size_t seep_findings_of_level(const struct seep_findings *found, enum seep_finding_level level)
{
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++)
		count += found->items[i].level == level;
	return count;
}

static void judge_inside(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_program_facts *p = &facts->program;
	bool own_malloc = p->linked_allocator && strcmp(p->linked_allocator, "malloc") == 0;

	REASON("memory-manager", NOTE, p->manager, "%s\n%s", p->manager->sentence,
	       p->manager->advice);
	if (!p->was_read)
		return;
	REASON("memory-manager", NOTE, p->kind.is_go,
	       "%s is a Go program: Go maps its memory itself, only what C code in it allocates is "
	       "recorded\nuse Go's own heap profile (runtime/pprof) for Go",
	       p->loaded);
	REASON("libraries", PROBLEM, p->missing_library,
	       "%s needs %s, which the loader does not find\ninstall it, or set LD_LIBRARY_PATH",
	       p->loaded, p->missing_library);
	REASON("own-malloc", PROBLEM, own_malloc,
	       "%s has a malloc of its own, which comes before that of any library: next to nothing "
	       "is recorded\nrecord a build that links its allocator as a shared library, or uses "
	       "the C library's",
	       p->loaded);
	REASON("own-malloc", NOTE, p->linked_allocator,
	       "%s has an allocator linked in (%s): only the blocks that it allocates by malloc are recorded\n"
	       "record a build that allocates by malloc",
	       p->loaded, p->linked_allocator);
	REASON("unwind", NOTE, !p->kind.has_unwind,
	       "%s has no .eh_frame: its stacks are followed by frame pointer where it keeps one, "
	       "and end there otherwise\ncompile with -fasynchronous-unwind-tables, and do not "
	       "strip .eh_frame",
	       p->loaded);
}

static void judge_program(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_program_facts *p = &facts->program;
	bool is_inside = facts->looked & SEEP_FACTS_INSIDE;

	say_error(found, "program", p->problem,
		  "give the path of a program that may be executed; names are looked up in PATH");
	if (p->problem)
		return;
	REASON("program", NOTE, is_inside && !p->was_read,
	       "%s may be executed but not read by you: it is recorded, without names and lines\n",
	       p->loaded);
	REASON("script", NOTE, p->is_script,
	       "%s is a script: what is recorded is %s, and the programs that it starts\n", p->path,
	       p->loaded);
	if (is_inside)
		judge_inside(facts, found);
}

/* How to run a command as the process's user, for us. */
struct as_user {
	char text[128];
};

static struct as_user as_user(const struct seep_facts *facts)
{
	const struct seep_process_facts *x = &facts->process;
	const char *tool = facts->uid == 0 ? "setpriv --clear-groups --reuid" : "sudo -u";
	struct as_user as;

	if (x->user)
		(void)snprintf(as.text, sizeof(as.text), "%s %s", tool, x->user);
	else
		(void)snprintf(as.text, sizeof(as.text), "%s %s%u", tool,
			       facts->uid == 0 ? "" : "#", x->uid);
	return as;
}

static void judge_start(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_process_facts *x = &facts->process;

	/* One of ours may have just been started: its loader has not mapped the library yet. */
	REASON("library-loaded", PROBLEM,
	       !x->is_ours && x->can_look && !x->has_library && x->asked_for_library,
	       "its LD_PRELOAD names libseep.so, which is not loaded: it is static, or was started "
	       "with more privileges than its parent, or may not read the library\n"
	       "ask about its program: seep doctor PROGRAM");
	REASON("library-loaded", PROBLEM,
	       x->is_ours && x->can_look && !x->has_library && !x->asked_for_library,
	       "LD_PRELOAD had been taken out of its environment\npass that variable on");
	REASON("library-loaded", NOTE, x->has_library && !x->recorded && x->is_forked,
	       "it was forked and has neither allocated nor freed since, so it has no ledger yet\n"
	       "\"seep ps\" lists it from its first allocation on");
	REASON("library-loaded", PROBLEM, x->has_library && !x->recorded && x->ledger,
	       "its ledger is where \"seep ps\" does not look: %s\n"
	       "\"seep report\" reads it there; for \"seep ps\" set SEEP_DIR to its folder",
	       x->ledger);
	REASON("user", PROBLEM, x->is_ours && !x->recorded && x->uid != x->real_uid,
	       "it is a set-user-id program: no library can be preloaded into it\n"
	       "run seep as its owner, user %u",
	       x->uid);
	REASON("user", x->is_ours ? PROBLEM : NOTE,
	       !x->recorded && (x->uid != facts->uid || x->uid != x->real_uid),
	       "it runs as user %u, whose ledgers are in /dev/shm/seep-%u\n"
	       "look there as that user: %s seep ps",
	       x->uid, x->uid, as_user(facts).text);
}

static void judge_surroundings(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_process_facts *x = &facts->process;
	const char *to_do =
		x->pid != 1 ? "start it again with the library, as shown below; what was "
			      "allocated before that cannot be known"
			    : "have \"seep run -o FILE -- PROGRAM\" started in its place, or "
			      "record each service that it starts";

	REASON("recorded", NOTE, !x->recorded && !x->is_forked,
	       "no ledger of it was found, so it is not recorded\n%s", to_do);
	REASON("namespaces", NOTE, x->other_root,
	       "it sees other files than you do%s\nrun seep where it runs; libseep.so and the folder "
	       "of ledgers have to be there too. From here its ledgers are below /proc/%u/root",
	       x->other_pid_namespace ? ", and other processes" : "", x->pid);
	REASON("namespaces", NOTE, x->other_pid_namespace,
	       "it is in another PID namespace\nit is recorded, but not watched while it runs; run "
	       "seep inside for that");
	REASON("seccomp", NOTE, x->seccomp,
	       "a seccomp filter restricts its system calls\nif the filter kills, let it "
	       "allow madvise, mmap, munmap, futex, getpid, getpgid, gettid, tgkill, "
	       "clock_gettime, getcwd, rt_sigprocmask, process_vm_readv, and prctl for --by-thread");
}

static void judge_process(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_process_facts *x = &facts->process;
	const char *to_do = facts->uid != 0 ? "ask as root"
					    : "being root is not enough: it takes CAP_SYS_PTRACE "
					      "(docker run --cap-add=SYS_PTRACE). Or ask about its "
					      "program: seep doctor PROGRAM";

	REASON("process", PROBLEM, !x->exists,
	       "there is no process %u\n\"seep ps\" lists those that are recorded", x->pid);
	REASON("process", PROBLEM, x->is_kernels,
	       "process %u is a thread of the kernel, or about to end: it has no program\n"
	       "\"seep ps\" lists those that are recorded",
	       x->pid);
	REASON("process", NOTE, !x->exe, "you may not look at process %u, of user %u\n%s", x->pid,
	       x->uid, to_do);
	if (!x->exists || x->is_kernels)
		return;
	judge_start(facts, found);
	judge_surroundings(facts, found);
}

static void judge_limits(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_limits *limits = &facts->limits;
	const uint64_t address_space = limits->address_space_bytes;
	const char *whose = facts->looked & SEEP_FACTS_PROCESS ? "its" : "the";
	bool failed = facts->machine.was_tried && !facts->machine.tried_well;
	const struct {
		uint64_t has_bytes, needs_bytes;
		const char *what, *how;
	} needs[] = {
		{ address_space, LEDGER_ADDRESS_SPACE_MIN_BYTES, "address space (RLIMIT_AS)",
		  "\"ulimit -v\", LimitAS=" },
		{ limits->file_bytes, LEDGER_FILE_MIN_BYTES, "file size (RLIMIT_FSIZE)",
		  "\"ulimit -f\", LimitFSIZE=" },
		{ limits->data_bytes, LEDGER_DATA_MIN_BYTES, "data segment (RLIMIT_DATA)",
		  "\"ulimit -d\", LimitDATA=" },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		REASON("limits", PROBLEM, needs[i].has_bytes < needs[i].needs_bytes,
		       "%s %s is limited to %s, recording needs %s\nraise that limit (%s)", whose,
		       needs[i].what, seep_bytes_text(needs[i].has_bytes).text,
		       seep_bytes_text(needs[i].needs_bytes).text, needs[i].how);
	REASON("limits", failed ? PROBLEM : NOTE, address_space < ADDRESS_SPACE_PLENTY_BYTES,
	       "%s address space (RLIMIT_AS) is limited to %s; a ledger takes an eighth of what the "
	       "program leaves, and needs %s to be left\nraise that limit (\"ulimit -v\", LimitAS=)",
	       whose, seep_bytes_text(address_space).text,
	       seep_bytes_text(LEDGER_ADDRESS_SPACE_MIN_BYTES).text);
	REASON("limits", NOTE, limits->file_bytes < MIB(1024),
	       "%s file size (RLIMIT_FSIZE) is limited to %s; the ledger is made smaller to fit\n"
	       "raise that limit (\"ulimit -f\", LimitFSIZE=)",
	       whose, seep_bytes_text(limits->file_bytes).text);
}

static void judge_place(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_room *room = &facts->ledgers;

	judge_limits(facts, found);
	REASON("room", PROBLEM, room->total_bytes > 0 && room->free_bytes < ROOM_MIN_BYTES,
	       "%s has %s left of %s for ledgers\nmake room: \"seep ps\" lists ledgers that dead "
	       "processes left. Or set SEEP_DIR to a folder on disk",
	       room->path, seep_bytes_text(room->free_bytes).text,
	       seep_bytes_text(room->total_bytes).text);
	REASON("room", NOTE, room->total_bytes > 0 && room->free_bytes <= PLENTY_BYTES,
	       "%s has %s left of %s for ledgers: enough for small programs; when it is full, new "
	       "call stacks are counted together as \"other\"\nset SEEP_DIR to a folder with more "
	       "room; a container has more with docker run --shm-size=1g",
	       room->path, seep_bytes_text(room->free_bytes).text,
	       seep_bytes_text(room->total_bytes).text);
}

static bool has(const char *text, const char *part)
{
	return text && part && strstr(text, part);
}

static void judge_machine(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_machine_facts *m = &facts->machine;
	const struct seep_program_facts *p = &facts->program;
	/* "cannot be preloaded (...): ignored", "version `GLIBC_2.38' not found (required ...)" */
	bool refused = has(m->tried, m->library) &&
		       (has(m->tried, "cannot be preloaded") || has(m->tried, "not found"));
	bool sanitizer = has(m->preload, "libasan") || has(m->preload, "libtsan") ||
			 has(m->preload, "libclang_rt.");

	REASON("kernel", PROBLEM, !m->kernel_populates,
	       "Linux %s has no MADV_POPULATE_WRITE, by which a ledger gets its memory\n"
	       "use Linux 5.14 or newer",
	       m->kernel);
	REASON("proc", NOTE, !m->has_proc,
	       "/proc is not mounted: programs are recorded, but are not named, and seep finds "
	       "libseep.so by SEEP_LIB only\nmount it: mount -t proc proc /proc");
	say_error(found, "library", m->library_problem, "set SEEP_LIB to where it is, or unset it");
	REASON("library", PROBLEM, m->library_noexec,
	       "%s lies on a file system that is mounted noexec, so that the loader cannot map it\n"
	       "copy it elsewhere and set SEEP_LIB to the copy",
	       m->library);
	REASON("library", PROBLEM, refused,
	       "the loader says: %s\nset SEEP_LIB to a libseep.so that was built for this system",
	       m->tried);
	REASON("preload", PROBLEM, sanitizer,
	       "LD_PRELOAD has a sanitizer (%s), which insists on being first\n"
	       "take it out of LD_PRELOAD",
	       m->preload);
	REASON("allocator", NOTE, p->allocator,
	       "malloc is that of %s (%s): all is counted, requests below 16 bytes as 16\n",
	       p->allocator, p->allocator_library);
	REASON("options", PROBLEM, has(m->tried, "SEEP_OPTIONS"),
	       "libseep.so refuses its options: %s\ncorrect SEEP_OPTIONS, or unset it",
	       strstr(m->tried, "SEEP_OPTIONS"));
	say_error(found, "ledgers", m->ledgers_problem,
		  "set SEEP_DIR to a folder of your own, of mode 0700");
}

/* A program was started as "seep run" would, and why it left no ledger is not @explained. */
static void judge_trial(const struct seep_facts *facts, struct seep_findings *found, bool explained)
{
	const struct seep_machine_facts *m = &facts->machine;
	bool failed = m->was_tried && !m->tried_well && !explained;
	const char *what = m->tried ? m->tried : m->confined;

	REASON("trial", PROBLEM, failed,
	       "a program started with the library made no ledger in %s%s%s\nsee what \"seep "
	       "doctor\" notes; let a profile of AppArmor or SELinux read and map libseep.so; or set "
	       "SEEP_DIR to another folder",
	       m->ledger_dir, what ? ": " : "", what ? what : "");
}

/* What goes wrong later than the making of a ledger. */
static void judge_run(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_room *output = &facts->output;
	uint64_t left = facts->group.room_bytes;

	REASON("group", left < GROUP_MIN_BYTES ? PROBLEM : NOTE, left < PLENTY_BYTES,
	       "the control group has %s left of %s of memory; what seep takes (a quarter of the heap, "
	       "and the ledger) counts there too\n"
	       "raise its limit while you record (docker --memory, MemoryMax=)",
	       seep_bytes_text(left).text, seep_bytes_text(facts->group.limit_bytes).text);
	if (!(facts->looked & SEEP_FACTS_OUTPUT))
		return;
	REASON("output", NOTE, !facts->output_writable,
	       "no recording can be written here, in %s\nsay where: seep run -o FILE",
	       output->path);
	REASON("output", output->free_bytes < MIB(1) ? PROBLEM : NOTE,
	       output->total_bytes && output->free_bytes < PLENTY_BYTES,
	       "%s has only %s left for recordings\nwrite elsewhere: seep run -o FILE",
	       output->path, seep_bytes_text(output->free_bytes).text);
}

static void judge_beginning(const struct seep_facts *facts, struct seep_findings *found)
{
	const struct seep_process_facts *x = &facts->process;
	bool is_process = facts->looked & SEEP_FACTS_PROCESS;
	size_t before;

	found->count = 0;
	if (is_process && !x->is_ours)
		judge_process(facts, found);
	if (facts->looked & SEEP_FACTS_PROGRAM)
		judge_program(facts, found);
	if (is_process && x->is_ours)
		judge_start(facts, found);
	before = seep_findings_of_level(found, PROBLEM);
	if (facts->looked & SEEP_FACTS_LIMITS)
		judge_place(facts, found);
	if (facts->looked & SEEP_FACTS_MACHINE) {
		judge_machine(facts, found);
		judge_trial(facts, found, seep_findings_of_level(found, PROBLEM) > before);
	}
	if (is_process && x->exists && !x->is_kernels)
		REASON("library-loaded", PROBLEM,
		       x->has_library && !x->recorded &&
			       seep_findings_of_level(found, PROBLEM) == before,
		       "libseep.so is loaded in it, but made no ledger that can be found from "
		       "here\nlook at the SEEP_OPTIONS, SEEP_DIR, limits and root directory that it "
		       "was started with");
}

void seep_reasons_find(const struct seep_facts *facts, struct seep_findings *found)
{
	judge_beginning(facts, found);
	if (facts->looked & SEEP_FACTS_LIMITS)
		judge_run(facts, found);
}

bool seep_reasons_first(const struct seep_facts *facts, struct seep_finding *ret_finding)
{
	SEEP_FREED struct seep_findings *found = seep_xmalloc(sizeof(*found));
	size_t i = 0;

	judge_beginning(facts, found);
	while (i < found->count && found->items[i].level != PROBLEM)
		i++;
	if (i < found->count)
		*ret_finding = found->items[i];
	else
		i = SEEP_FINDINGS_MAX;
	return i < SEEP_FINDINGS_MAX;
}

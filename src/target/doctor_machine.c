/* SPDX-License-Identifier: MIT */
/* The checks of what holds for every program that is started from here. */
#include "target/doctor_checks.h"

#include "base/units.h"
#include "ledger/ledger.h"

#include <stdio.h>
#include <string.h>

#define NOTE SEEP_DOCTOR_NOTE
#define PROBLEM SEEP_DOCTOR_PROBLEM
#define OK SEEP_DOCTOR_OK
#define MIB(n) ((uint64_t)(n) << 20)

/* docs/internals/ledger.md, "Where it is", and docs/limits.md: what a ledger asks for. */
/* A process of 500 MB in all gets a ledger of the usual size; below it, a smaller one. */
#define ADDRESS_SPACE_PLENTY_BYTES MIB(4096)
/* An eighth of it holds what a few thousand stacks need. */
#define ROOM_MIN_BYTES MIB(1)
#define ROOM_PLENTY_BYTES MIB(64)
#define GROUP_MIN_BYTES MIB(16)
#define GROUP_PLENTY_BYTES MIB(64)
#define OUTPUT_MIN_BYTES MIB(1)
#define OUTPUT_PLENTY_BYTES MIB(64)
enum { DESCRIPTORS_PLENTY = 64 };

void seep_doctor_check_kernel(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	const struct seep_doctor_machine *machine = &facts->machine;

	if (machine->kernel_populates) {
		seep_doctor_say(finding, OK, "Linux %s", machine->kernel);
		return;
	}
	seep_doctor_say(finding, PROBLEM,
			"Linux %s has no MADV_POPULATE_WRITE, by which a ledger gets its memory",
			machine->kernel);
	seep_doctor_advise(finding, "Use Linux 5.14 or newer.");
}

void seep_doctor_check_proc(const struct seep_doctor_facts *facts,
			    struct seep_doctor_finding *finding)
{
	if (facts->machine.has_proc) {
		seep_doctor_say(finding, OK, "It is mounted");
		return;
	}
	seep_doctor_say(finding, NOTE,
			"/proc is not mounted: programs are counted, but are not named, and seep "
			"finds libseep.so by SEEP_LIB only");
	seep_doctor_advise(finding, "Mount it: mount -t proc proc /proc.");
}

void seep_doctor_check_library(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_machine *machine = &facts->machine;

	if (!machine->library) {
		seep_doctor_say_error(finding, machine->library_problem);
		if (!*finding->advice)
			seep_doctor_advise(finding, "Set SEEP_LIB to where it is, or unset it.");
	} else if (machine->library_noexec) {
		seep_doctor_say(finding, PROBLEM,
				"%s lies on a file system that is mounted noexec, so that the "
				"loader cannot map it",
				machine->library);
		seep_doctor_advise(finding, "Copy it elsewhere and set SEEP_LIB to the copy.");
	} else if (machine->tried && strstr(machine->tried, "cannot be preloaded")) {
		seep_doctor_say(finding, PROBLEM, "The loader says: %s", machine->tried);
		seep_doctor_advise(finding,
				   "Set SEEP_LIB to a libseep.so that was built for this system.");
	} else {
		seep_doctor_say(finding, OK, "%s", machine->library);
	}
}

void seep_doctor_check_glibc(const struct seep_doctor_facts *facts,
			     struct seep_doctor_finding *finding)
{
	const struct seep_doctor_machine *machine = &facts->machine;

	if (!machine->glibc_needed || !*machine->glibc_needed) {
		seep_doctor_say(finding, OK, "glibc %s", machine->glibc_here);
	} else if (strverscmp(machine->glibc_needed, machine->glibc_here) <= 0) {
		seep_doctor_say(finding, OK, "glibc %s; libseep.so needs %s", machine->glibc_here,
				machine->glibc_needed);
	} else {
		seep_doctor_say(finding, PROBLEM, "libseep.so needs glibc %s, here is %s",
				machine->glibc_needed, machine->glibc_here);
		seep_doctor_advise(finding, "Build seep on this system, or on an older one.");
	}
}

void seep_doctor_check_options(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const char *said = facts->machine.tried;
	const char *at = said ? strstr(said, "SEEP_OPTIONS") : NULL;

	if (!at) {
		seep_doctor_say(finding, OK, "SEEP_OPTIONS is valid, or not set");
		return;
	}
	if (strstr(at, "with these keys"))
		seep_doctor_say(finding, PROBLEM,
				"SEEP_OPTIONS asks for help: nothing is recorded");
	else
		seep_doctor_say(finding, PROBLEM, "The library stays off, since it cannot read %s",
				at);
	seep_doctor_advise(finding, "Correct the variable, or unset it.");
}

void seep_doctor_check_ledgers(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_machine *machine = &facts->machine;

	if (machine->ledgers_problem)
		seep_doctor_say_error(finding, machine->ledgers_problem);
	else
		seep_doctor_say(finding, OK, "%s is ours alone", machine->ledgers.path);
	if (machine->ledgers_problem && !*finding->advice)
		seep_doctor_advise(finding, "Set SEEP_DIR to a folder of your own, of mode 0700.");
}

/* What Docker and Kubernetes give when nobody asks for more. */
static bool is_container_shm(const struct seep_doctor_room *room)
{
	return room->in_memory && room->total_bytes == MIB(64);
}

static void judge_room(const struct seep_doctor_room *room, const char *container,
		       struct seep_doctor_finding *finding)
{
	struct seep_unit_text free_text = seep_bytes_text(room->free_bytes);
	struct seep_unit_text total_text = seep_bytes_text(room->total_bytes);

	if (room->total_bytes == 0) {
		seep_doctor_say(finding, OK, "The file system does not say how large it is");
	} else if (room->free_bytes < ROOM_MIN_BYTES) {
		seep_doctor_say(finding, PROBLEM, "%s has %s left of %s", room->path,
				free_text.text, total_text.text);
		seep_doctor_advise(finding, "Make room: \"seep ps\" lists ledgers that dead "
					    "processes left. Or set SEEP_DIR to a folder on disk.");
	} else if (room->free_bytes <= ROOM_PLENTY_BYTES) {
		seep_doctor_say(finding, NOTE,
				"%s has %s left of %s: enough for small programs; when it is full, "
				"new call stacks are counted together as \"other\"",
				room->path, free_text.text, total_text.text);
		if ((container && room->in_memory) || is_container_shm(room))
			seep_doctor_advise(finding,
					   "Give the container more (docker run --shm-size=1g), or "
					   "set SEEP_DIR to a folder on disk.");
		else
			seep_doctor_advise(finding, "Set SEEP_DIR to a folder with more room.");
	} else {
		seep_doctor_say(finding, OK, "%s has %s left of %s", room->path, free_text.text,
				total_text.text);
	}
}

void seep_doctor_check_room(const struct seep_doctor_facts *facts,
			    struct seep_doctor_finding *finding)
{
	judge_room(&facts->machine.ledgers, facts->machine.container, finding);
}

void seep_doctor_check_process_room(const struct seep_doctor_facts *facts,
				    struct seep_doctor_finding *finding)
{
	if (!facts->process.exists)
		return;
	judge_room(&facts->process.shm, facts->process.other_root ? "container" : NULL, finding);
}

/* What other checks have said already is not said again. */
static bool is_explained(const struct seep_doctor_machine *machine)
{
	return !machine->library || machine->ledgers_problem || !machine->kernel_populates ||
	       machine->library_noexec || machine->ledgers.free_bytes < ROOM_MIN_BYTES ||
	       machine->limits.address_space_bytes < LEDGER_ADDRESS_SPACE_MIN_BYTES ||
	       machine->limits.file_bytes < LEDGER_FILE_MIN_BYTES ||
	       machine->limits.data_bytes < LEDGER_DATA_MIN_BYTES ||
	       (machine->tried && (strstr(machine->tried, "SEEP_OPTIONS") ||
				   strstr(machine->tried, "cannot be preloaded")));
}

void seep_doctor_check_trial(const struct seep_doctor_facts *facts,
			     struct seep_doctor_finding *finding)
{
	const struct seep_doctor_machine *machine = &facts->machine;

	if (machine->was_tried && machine->tried_well) {
		seep_doctor_say(finding, OK, "A program started with the library has an account");
	} else if (machine->was_tried && !is_explained(machine)) {
		seep_doctor_say(finding, PROBLEM,
				"A program started with the library made no ledger in %s%s%s",
				machine->ledgers.path, machine->tried ? "; it said: " : "",
				machine->tried ? machine->tried : "");
		seep_doctor_advise(finding, "See the other problems and notes; if there are none, "
					    "try SEEP_DIR in another place.");
	}
}

void seep_doctor_check_preload(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const char *preload = facts->machine.preload;
	const char *allocator = preload ? seep_doctor_allocator_of(preload) : NULL;

	if (!preload || !*preload) {
		seep_doctor_say(finding, OK, "LD_PRELOAD is not set");
	} else if (strstr(preload, "libasan") || strstr(preload, "libtsan") ||
		   strstr(preload, "libclang_rt.")) {
		seep_doctor_say(finding, PROBLEM,
				"LD_PRELOAD has a sanitizer (%s), which insists on being first",
				preload);
		seep_doctor_advise(finding, "Take it out of LD_PRELOAD.");
	} else if (facts->machine.preload_missing) {
		seep_doctor_say(finding, NOTE,
				"LD_PRELOAD names %s, which is not there: the loader says so at "
				"every start",
				facts->machine.preload_missing);
		seep_doctor_advise(finding, "Take it out of LD_PRELOAD.");
	} else if (strstr(preload, "libseep.so")) {
		seep_doctor_say(finding, NOTE,
				"LD_PRELOAD holds libseep.so already: every program started from "
				"here leaves a ledger");
		seep_doctor_advise(finding, "Unset it; \"seep run\" sets it for the program.");
	} else if (allocator) {
		seep_doctor_say(finding, NOTE,
				"LD_PRELOAD holds %s; what it allocates is counted, and requests "
				"below 16 bytes become 16",
				allocator);
	} else {
		seep_doctor_say(finding, OK, "LD_PRELOAD holds %s; libseep.so will be before it",
				preload);
	}
}

static void judge_limits(const struct seep_limits *limits, const char *how,
			 struct seep_doctor_finding *finding)
{
	if (limits->address_space_bytes < LEDGER_ADDRESS_SPACE_MIN_BYTES) {
		seep_doctor_say(
			finding, PROBLEM,
			"The limit of address space is %s; no ledger is made with less than "
			"%s left",
			seep_bytes_text(limits->address_space_bytes).text,
			seep_bytes_text(LEDGER_ADDRESS_SPACE_MIN_BYTES).text);
		seep_doctor_advise(finding, "Raise it (%s), or remove it.", how);
	} else if (limits->file_bytes < LEDGER_FILE_MIN_BYTES) {
		seep_doctor_say(finding, PROBLEM,
				"The limit of file size is %s; no ledger is made below %s",
				seep_bytes_text(limits->file_bytes).text,
				seep_bytes_text(LEDGER_FILE_MIN_BYTES).text);
		seep_doctor_advise(finding, "Raise it (ulimit -f, LimitFSIZE=).");
	} else if (limits->data_bytes < LEDGER_DATA_MIN_BYTES) {
		seep_doctor_say(finding, PROBLEM,
				"The limit of the data segment is %s; with less than %s left no "
				"ledger is made, or nothing is counted",
				seep_bytes_text(limits->data_bytes).text,
				seep_bytes_text(LEDGER_DATA_MIN_BYTES).text);
		seep_doctor_advise(finding, "Raise it (ulimit -d, LimitDATA=).");
	} else if (limits->address_space_bytes < ADDRESS_SPACE_PLENTY_BYTES) {
		seep_doctor_say(finding, NOTE,
				"The limit of address space is %s; the ledger takes at most an "
				"eighth of what is left, and the program has so much less",
				seep_bytes_text(limits->address_space_bytes).text);
		seep_doctor_advise(finding, "Raise it (%s) if the program comes near it.", how);
	} else if (limits->file_bytes < MIB(1024)) {
		seep_doctor_say(finding, NOTE,
				"The limit of file size is %s; the ledger is made smaller to fit",
				seep_bytes_text(limits->file_bytes).text);
		seep_doctor_advise(finding, "Raise it (ulimit -f, LimitFSIZE=).");
	} else if (limits->descriptors < DESCRIPTORS_PLENTY) {
		seep_doctor_say(finding, NOTE,
				"The limit of open files is %llu; following children takes some",
				(unsigned long long)limits->descriptors);
		seep_doctor_advise(finding, "Raise it (ulimit -n, LimitNOFILE=).");
	} else {
		seep_doctor_say(finding, OK,
				"Address space, file size, data segment and open files suffice");
	}
}

void seep_doctor_check_limits(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	judge_limits(&facts->machine.limits, "ulimit -v", finding);
}

void seep_doctor_check_process_limits(const struct seep_doctor_facts *facts,
				      struct seep_doctor_finding *finding)
{
	if (!facts->process.exists)
		return;
	judge_limits(&facts->process.limits, "ulimit -v, or LimitAS= of its unit", finding);
}

static void judge_group(const struct core_cgroup *group, struct seep_doctor_finding *finding)
{
	uint64_t limit = group->limit_bytes, left = group->room_bytes;
	char figures[128];

	if (limit == SEEP_NO_LIMIT) {
		seep_doctor_say(finding, OK, "No limit of a control group is near");
		return;
	}
	(void)snprintf(figures, sizeof(figures), "%s left of %s", seep_bytes_text(left).text,
		       seep_bytes_text(limit).text);
	if (left >= GROUP_PLENTY_BYTES) {
		seep_doctor_say(finding, OK, "The control group has %s", figures);
		return;
	}
	seep_doctor_say(finding, left < GROUP_MIN_BYTES ? PROBLEM : NOTE,
			"The control group has %s of memory; seep's own, a quarter of the heap and "
			"the ledger, counts there too",
			figures);
	seep_doctor_advise(finding, "Raise it while you record (docker --memory, MemoryMax=).");
}

void seep_doctor_check_group(const struct seep_doctor_facts *facts,
			     struct seep_doctor_finding *finding)
{
	judge_group(&facts->machine.group, finding);
}

void seep_doctor_check_process_group(const struct seep_doctor_facts *facts,
				     struct seep_doctor_finding *finding)
{
	if (!facts->process.exists)
		return;
	judge_group(&facts->process.group, finding);
}

void seep_doctor_check_confinement(const struct seep_doctor_facts *facts,
				   struct seep_doctor_finding *finding)
{
	const struct seep_doctor_machine *machine = &facts->machine;

	if (machine->confined) {
		seep_doctor_say(finding, NOTE, "This process is confined as \"%s\"",
				machine->confined);
		seep_doctor_advise(finding, "The profile has to allow reading and mapping "
					    "libseep.so, and writing in the folder of ledgers.");
	} else if (machine->selinux_enforces) {
		seep_doctor_say(finding, OK,
				"SELinux is enforcing, and leaves this process alone; into a "
				"program that changes its domain no library is preloaded");
	} else {
		seep_doctor_say(finding, OK, "Neither confines this process");
	}
}

void seep_doctor_check_output(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	const struct seep_doctor_room *room = &facts->machine.output;

	if (!facts->machine.output_writable) {
		seep_doctor_say(finding, NOTE, "No recording can be written here, in %s",
				room->path);
		seep_doctor_advise(finding, "Say where: seep run -o FILE.");
	} else if (room->total_bytes && room->free_bytes < OUTPUT_MIN_BYTES) {
		seep_doctor_say(finding, PROBLEM, "%s has %s left for recordings", room->path,
				seep_bytes_text(room->free_bytes).text);
		seep_doctor_advise(finding, "Make room, or write elsewhere: seep run -o FILE.");
	} else if (room->total_bytes && room->free_bytes < OUTPUT_PLENTY_BYTES) {
		seep_doctor_say(finding, NOTE, "%s has only %s left for recordings", room->path,
				seep_bytes_text(room->free_bytes).text);
		seep_doctor_advise(finding, "Write elsewhere: seep run -o FILE.");
	} else {
		seep_doctor_say(finding, OK, "%s left for recordings in %s",
				seep_bytes_text(room->free_bytes).text, room->path);
	}
}

void seep_doctor_check_symbols(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_machine *machine = &facts->machine;
	const char *urls = machine->debuginfod_urls;

	seep_doctor_say(finding, OK, "The files themselves%s%s",
			machine->has_debug_folder ? ", /usr/lib/debug" : "",
			urls && *urls ? "; DEBUGINFOD_URLS is set, and asked only with --debuginfod"
				      : "");
}

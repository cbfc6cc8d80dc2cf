/* SPDX-License-Identifier: MIT */
/* The checks of a process that runs already. */
#include "target/doctor_checks.h"

#include "base/units.h"

#include <stdio.h>

#define NOTE SEEP_DOCTOR_NOTE
#define PROBLEM SEEP_DOCTOR_PROBLEM
#define OK SEEP_DOCTOR_OK

/* Below this nobody looks for the rest. */
#define REMARKABLE_BYTES (64ull << 20)

/* How to run "seep" as @process's user, for us. */
static void add_as_user(const struct seep_doctor_facts *facts, char *text, size_t bytes)
{
	const struct seep_doctor_process *process = &facts->process;
	const char *tool = facts->uid == 0 ? "setpriv --clear-groups --reuid" : "sudo -u";

	if (process->user)
		(void)snprintf(text, bytes, "%s %s", tool, process->user);
	else
		(void)snprintf(text, bytes, "%s %s%u", tool, facts->uid == 0 ? "" : "#",
			       process->uid);
}

static void advise_permission(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	if (facts->uid != 0)
		seep_doctor_advise(finding, "Ask as root: sudo seep doctor %u.",
				   facts->process.pid);
	else
		seep_doctor_advise(
			finding, "Being root is not enough here: it takes CAP_SYS_PTRACE, which a "
				 "container lacks unless it is given (docker run "
				 "--cap-add=SYS_PTRACE), and a process that may be traced at all. "
				 "Its program can be looked at by itself: seep doctor PROGRAM.");
}

void seep_doctor_check_process(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;

	if (!process->exists) {
		seep_doctor_say(finding, PROBLEM, "There is no process %u", process->pid);
		seep_doctor_advise(finding, "\"seep ps\" lists those that are recorded.");
	} else if (process->is_kernels) {
		seep_doctor_say(finding, PROBLEM,
				"Process %u is a thread of the kernel, or about to end: it has no "
				"program",
				process->pid);
		seep_doctor_advise(finding, "\"seep ps\" lists those that are recorded.");
	} else if (!process->exe) {
		seep_doctor_say(finding, NOTE, "We may not look at process %u, of user %u",
				process->pid, process->uid);
		advise_permission(facts, finding);
	} else {
		seep_doctor_say(finding, OK, "Process %u runs %s", process->pid, process->exe);
	}
}

void seep_doctor_check_recorded(const struct seep_doctor_facts *facts,
				struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;

	if (!process->exists)
		return;
	if (process->recorded) {
		seep_doctor_say(finding, OK, "It has a ledger, and is %s", process->recorded);
		return;
	}
	seep_doctor_say(finding, NOTE, "It is not recorded: no ledger of it was found");
	if (process->is_kernels)
		return;
	if (process->pid == 1) {
		seep_doctor_advise(finding,
				   "The first process is started by the kernel or by the "
				   "container's runtime: let that start \"seep run -o FILE "
				   "-- PROGRAM\" in its place, or record the services that "
				   "it starts, each by itself.");
		return;
	}
	seep_doctor_advise(finding, "What was allocated before cannot be known any more. Start it "
				    "again with the library, as shown below.");
}

void seep_doctor_check_loaded(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;

	if (!process->exists)
		return;
	if (!process->can_look)
		return;
	if (process->has_library && !process->recorded) {
		seep_doctor_say(finding, PROBLEM,
				"libseep.so is loaded, but there is no ledger of it where we look");
		seep_doctor_advise(finding, "Its SEEP_DIR may be another one, or its user, or its "
					    "root; or no ledger could be made when it started.");
	} else if (process->has_library) {
		seep_doctor_say(finding, OK, "It is loaded");
	} else if (process->asked_for_library) {
		seep_doctor_say(
			finding, PROBLEM,
			"Its LD_PRELOAD names libseep.so, which is not loaded all the same");
		seep_doctor_advise(finding, "It is static, or was started with more privileges "
					    "than its parent, or the library could not be read.");
	} else {
		seep_doctor_say(finding, OK, "It is not loaded");
	}
}

static void advise_user(const struct seep_doctor_facts *facts, struct seep_doctor_finding *finding)
{
	char as_user[128];

	add_as_user(facts, as_user, sizeof(as_user));
	seep_doctor_advise(finding,
			   "Its ledger would be in /dev/shm/seep-%u. Look there as that user: "
			   "%s seep ps.",
			   facts->process.uid, as_user);
}

void seep_doctor_check_user(const struct seep_doctor_facts *facts,
			    struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;

	if (!process->exists)
		return;
	if (process->uid != process->real_uid && !process->recorded) {
		seep_doctor_say(finding, NOTE, "Started by user %u, it runs as user %u",
				process->real_uid, process->uid);
		advise_user(facts, finding);
	} else if (process->uid != facts->uid && !process->recorded) {
		seep_doctor_say(finding, NOTE, "It is user %u's, not ours", process->uid);
		advise_user(facts, finding);
	} else {
		seep_doctor_say(finding, OK, "User %u's", process->uid);
	}
}

void seep_doctor_check_namespaces(const struct seep_doctor_facts *facts,
				  struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;

	if (!process->exists)
		return;
	if (process->other_root) {
		seep_doctor_say(finding, NOTE, "It sees other files than we do%s",
				process->other_pid_namespace ? ", and other processes" : "");
		seep_doctor_advise(finding,
				   "Run seep where it runs; libseep.so and the folder of "
				   "ledgers have to be there too. From here its ledgers "
				   "are below /proc/%u/root.",
				   process->pid);
	} else if (process->other_pid_namespace) {
		seep_doctor_say(finding, NOTE, "It is of another PID namespace");
		seep_doctor_advise(finding, "It is recorded after the run, by what its ledger "
					    "says; run seep inside to follow it.");
	} else {
		seep_doctor_say(finding, OK, "As we do");
	}
}

void seep_doctor_check_seccomp(const struct seep_doctor_facts *facts,
			       struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;

	if (!process->exists)
		return;
	if (process->seccomp == 0) {
		seep_doctor_say(finding, OK, "All");
		return;
	}
	if (process->seccomp == 1) {
		seep_doctor_say(finding, PROBLEM,
				"It is in seccomp's strict mode, which kills for "
				"what a heap needs");
		seep_doctor_advise(finding, "Record it without.");
		return;
	}
	seep_doctor_say(finding, NOTE, "A seccomp filter restricts its system calls");
	seep_doctor_advise(finding,
			   "If the filter kills for madvise, mmap, munmap, futex or gettid, "
			   "allow them (docs/limits.md, \"Sandboxes\", has the list).");
}

void seep_doctor_check_process_allocator(const struct seep_doctor_facts *facts,
					 struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;

	if (!process->exists || !process->can_look)
		return;
	if (process->allocator)
		seep_doctor_say(finding, NOTE,
				"It uses %s; all is counted, requests below 16 bytes become 16",
				process->allocator);
	else
		seep_doctor_say(finding, OK, "None but the C library's is known");
}

void seep_doctor_check_memory(const struct seep_doctor_facts *facts,
			      struct seep_doctor_finding *finding)
{
	const struct seep_doctor_process *process = &facts->process;
	uint64_t rss = process->rss_bytes, anonymous = process->anonymous_bytes;
	uint64_t other = rss > anonymous ? rss - anonymous : 0;

	if (!process->exists)
		return;
	if (process->locked_bytes > rss / 2) {
		seep_doctor_say(finding, NOTE,
				"It locks memory: with mlockall() the ledger's 440 MB become real");
		seep_doctor_advise(finding, "Use MCL_ONFAULT, or limit its address space.");
	} else if (rss >= REMARKABLE_BYTES && other > anonymous) {
		seep_doctor_say(
			finding, NOTE,
			"Of %s resident only %s can be heap; %s are files and shared memory",
			seep_bytes_text(rss).text, seep_bytes_text(anonymous).text,
			seep_bytes_text(other).text);
		seep_doctor_advise(finding, "See /proc/%u/smaps for what the rest is.",
				   process->pid);
	} else if (process->recorded && anonymous >= REMARKABLE_BYTES &&
		   process->live_bytes < anonymous / 4) {
		seep_doctor_say(finding, NOTE,
				"Of %s of its own memory %s are live blocks; the rest is freed and "
				"kept by the allocator, taken by mmap, or stacks",
				seep_bytes_text(anonymous).text,
				seep_bytes_text(process->live_bytes).text);
		seep_doctor_advise(finding, "malloc_trim(0) or MALLOC_ARENA_MAX=2 show whether "
					    "the allocator keeps it.");
	} else {
		seep_doctor_say(finding, OK, "%s resident, of which %s can be heap",
				seep_bytes_text(rss).text, seep_bytes_text(anonymous).text);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The table of what stands in the way of attaching. Of each code, the first row that holds is told,
 * so its problems come before its notes.
 */
#include "target/attach_check.h"

#include "base/units.h"
#include "base/xalloc.h"
#include "ledger/ledger.h"
#include "target/entry_names.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define NOTE SEEP_FINDING_NOTE
#define PROBLEM SEEP_FINDING_PROBLEM
#define MIB(n) ((uint64_t)(n) << 20)
#define REASON(...) SEEP_REASON(found, __VA_ARGS__)

enum { DESCRIPTORS_MIN = 8 };

static void judge_process(const struct seep_attach_facts *f, struct seep_findings *found)
{
	REASON("process", PROBLEM, !f->state,
	       "there is no process %d\nname one that runs: ps -e lists them", f->pid);
	REASON("process", PROBLEM, f->refusal.is_kernels && f->state != 'Z',
	       "process %d (%s) is a thread of the kernel, or at its end\nname one that runs a "
	       "program",
	       f->pid, f->name);
	REASON("process", PROBLEM, f->goes_on,
	       "the first thread of process %d (%s) has ended, and /proc shows neither memory nor "
	       "files of the others\n"
	       "record it from its start: seep run",
	       f->pid, f->name);
	REASON("process", PROBLEM, f->state != 'Z' && f->memory_of,
	       "process %d (%s) has its parent's memory (vfork, or clone with CLONE_VM)\n"
	       "attach to its parent, %d",
	       f->pid, f->name, f->memory_of);
	REASON("process", PROBLEM, f->state == 'Z',
	       "process %d (%s) has ended; its parent has not asked how\nname one that runs",
	       f->pid, f->name);
	REASON("process", PROBLEM, f->process != f->pid,
	       "%d is a thread of process %d\nname the process", f->pid, f->process);
	REASON("process", PROBLEM, f->state == 'T',
	       "process %d (%s) is stopped by a signal\nlet it go on first: kill -CONT %d", f->pid,
	       f->name, f->pid);
}

static const char *advice_for_rights(const struct seep_refusal *refusal)
{
	if (refusal->is_own)
		return "name another process";
	if (refusal->is_filtered)
		return "run seep where ptrace is allowed (docker run --security-opt seccomp=...)";
	if (refusal->tracer)
		return "let that one go first";
	if (refusal->yama >= 3)
		return "set it to 1 or less in /etc/sysctl.d and boot again";
	if (refusal->is_beyond)
		return "attach from there, or from the host";
	if (geteuid() != 0)
		return "attach as root";
	return "being root is not enough in a container: add CAP_SYS_PTRACE there (docker run "
	       "--cap-add=SYS_PTRACE, kubectl debug --profile=general), or attach from the host";
}

static void judge_rights(const struct seep_attach_facts *f, struct seep_findings *found)
{
	const struct seep_refusal *refusal = &f->refusal;
	const bool refused = f->trace_errno || refusal->tracer || refusal->is_own ||
			     refusal->is_filtered;
	struct seep_error err = { 0 };

	if (refused)
		(void)seep_refusal_say(refusal, f->trace_errno, &err);
	REASON("rights", PROBLEM, refused, "%s\n%s", err.text, advice_for_rights(refusal));
	REASON("rights", PROBLEM, !f->sees_mappings,
	       "the memory of process %d (%s) cannot be looked at\nattach as root", f->pid,
	       f->name);
	REASON("rights", PROBLEM, !f->opens_files,
	       "its descriptors, by which the library gets into it, are for user %u alone, and so is "
	       "its ledger\nattach as that user, or with CAP_DAC_OVERRIDE as well as CAP_SYS_PTRACE",
	       f->uid);
}

static void judge_recorded(const struct seep_attach_facts *f, struct seep_findings *found)
{
	REASON("recorded", PROBLEM, f->is_recorded,
	       "it is recorded already\nlook at it: seep top %d", f->pid);
	REASON("recorded", PROBLEM, f->is_preloaded,
	       "libseep.so was loaded when it began, and has made no ledger, or none yet\n"
	       "seep doctor %d says why, by library-loaded",
	       f->pid);
}

static void judge_kind(const struct seep_attach_facts *f, struct seep_findings *found)
{
	const struct seep_elfkind *kind = &f->kind;
	const bool is_foreign = f->kind_is_known && (!kind->is_64bit || kind->machine != EM_X86_64);

	REASON("kind", PROBLEM, is_foreign,
	       "its program is not one for 64-bit x86\nseep records those only");
	REASON("kind", PROBLEM, f->libc == SEEP_ATTACH_MUSL,
	       "it runs with musl's C library\nrun it in an image with glibc");
	REASON("kind", PROBLEM, f->libc == SEEP_ATTACH_NO_LIBC && kind->is_go,
	       "it is a Go program without C code: static, and it takes its memory by mmap\n"
	       "use Go's own heap profile, runtime/pprof");
	REASON("kind", PROBLEM, f->is_starting && f->libc == SEEP_ATTACH_NO_LIBC,
	       "its loader has loaded no glibc: it has only just begun, or runs without one\n"
	       "try again in a moment");
	REASON("kind", PROBLEM, f->libc == SEEP_ATTACH_NO_LIBC,
	       "it is statically linked, or has no glibc: no library can be loaded into it\n"
	       "link it without -static");
	REASON("kind", PROBLEM, !f->glibc_minor,
	       "the version of its C library cannot be told\nrecord it from its start: seep run");
	REASON("kind", PROBLEM, f->glibc_minor < f->needed_glibc_minor,
	       "its C library knows symbols up to GLIBC_2.%u, and attaching needs GLIBC_2.%u\n"
	       "run it in a newer image, or build seep on a system as old (of 2.34 at least)",
	       f->glibc_minor, f->needed_glibc_minor);
	REASON("kind", PROBLEM, f->has_shadow_stack,
	       "the processor keeps shadow stacks for it (CET), which a call from outside upsets\n"
	       "start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off");
	REASON("kind", PROBLEM, f->lacks_vdso,
	       "it has unmapped the vDSO, where libseep.so reads the clock\n"
	       "record it from its start: seep run");
	REASON("kind", NOTE, kind->is_go,
	       "it is a Go program: only what C code in it allocates is recorded\n"
	       "use Go's own heap profile (runtime/pprof) for Go");
}

static void judge_allocator(const struct seep_attach_facts *f, struct seep_findings *found)
{
	REASON("allocator", PROBLEM, f->tool && f->tool_is_in_the_way,
	       "it runs with %s, which replaces its allocator or its code itself\n"
	       "attach to one that runs without it",
	       f->tool);
	REASON("allocator", NOTE,
	       f->libc == SEEP_ATTACH_GLIBC && seep_entry_knows(f->linked_allocator),
	       "its program has an allocator linked in (%s), whose blocks are not seen\n"
	       "record it by seep attach --entries %d, which says so if it cannot be",
	       f->linked_allocator, (int)f->pid);
	REASON("allocator", NOTE, f->linked_allocator,
	       "its program has an allocator linked in (%s), whose blocks are not seen\n"
	       "record a build that uses the C library's, or a shared one",
	       f->linked_allocator);
	REASON("allocator", NOTE, f->tool,
	       "%s has put hooks into it, too: what either sees from then on may be incomplete\n"
	       "end that first",
	       f->tool);
}

static void judge_confinement(const struct seep_attach_facts *f, struct seep_findings *found)
{
	REASON("seccomp", PROBLEM, f->seccomp == 1,
	       "a thread of it is in strict mode (seccomp): the kernel kills it for all calls but "
	       "read and write\nrecord it from its start: seep run");
	REASON("seccomp", PROBLEM, f->seccomp && !f->may_read_filters,
	       "a filter (seccomp) restricts its system calls; it may kill for those that attaching "
	       "makes, and seep may not read it\n"
	       "attach from where that is allowed, with CAP_SYS_ADMIN and under no filter: as root of "
	       "the host, or kubectl debug --profile=sysadmin");
	REASON("seccomp", NOTE, f->seccomp,
	       "a filter (seccomp) restricts its system calls: attaching reads it first, and does "
	       "nothing if it would kill\n"
	       "if it does, let it allow what the message names");
	REASON("confinement", NOTE, *f->confined,
	       "AppArmor or SELinux confines it (%s): that may forbid to map the library, or to make "
	       "a ledger\nif attaching fails, look into the audit log and widen that profile",
	       f->confined);
}

static void judge_limits(const struct seep_attach_facts *f, struct seep_findings *found)
{
	const struct {
		uint64_t has_bytes, needs_bytes;
		const char *what, *option;
	} needs[] = {
		/* With the library, and what is mapped for a call. */
		{ f->left.address_space_bytes, LEDGER_ADDRESS_SPACE_MIN_BYTES + MIB(16),
		  "address space left (RLIMIT_AS)", "--as" },
		{ f->left.data_bytes, LEDGER_DATA_MIN_BYTES, "data segment left (RLIMIT_DATA)",
		  "--data" },
		{ f->left.file_bytes, LEDGER_FILE_MIN_BYTES, "for a file (RLIMIT_FSIZE)",
		  "--fsize" },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		REASON("limits", PROBLEM, needs[i].has_bytes < needs[i].needs_bytes,
		       "it has %s of %s, recording needs %s\n"
		       "raise that limit: prlimit %s=unlimited --pid %d",
		       seep_bytes_text(needs[i].has_bytes).text, needs[i].what,
		       seep_bytes_text(needs[i].needs_bytes).text, needs[i].option, f->pid);
	REASON("limits", PROBLEM, f->left.descriptor_count < DESCRIPTORS_MIN,
	       "it may open only %u descriptors more (RLIMIT_NOFILE), attaching needs %d\n"
	       "raise that limit: prlimit --nofile=SOFT:HARD --pid %d",
	       (unsigned)f->left.descriptor_count, DESCRIPTORS_MIN, f->pid);
	REASON("limits", NOTE, f->locked_bytes > f->resident_bytes / 2,
	       "it has locked %s of its memory (mlockall), and the ledger with it: that may take "
	       "0.5 GB\nattach only where that much is left",
	       seep_bytes_text(f->locked_bytes).text);
}

static void judge_room(const struct seep_attach_facts *f, struct seep_findings *found)
{
	const uint64_t left = f->group.room_bytes;

	REASON("ledger", PROBLEM, !*f->folder,
	       "it can make a ledger nowhere: not in /dev/shm, /run/user/%u, /var/tmp or /tmp as it "
	       "sees them, as user %u\nmake one of them writable for it (Kubernetes: an emptyDir)",
	       f->own_uid, f->own_uid);
	REASON("ledger", PROBLEM, f->room.total_bytes && f->room.free_bytes < MIB(1),
	       "%s, as it sees it, has %s left for a ledger\nmake room there", f->folder,
	       seep_bytes_text(f->room.free_bytes).text);
	REASON("group", left < MIB(16) ? PROBLEM : NOTE, left < MIB(64),
	       "its control group has %s left of %s of memory; the ledger and the table of its "
	       "blocks count there, too\nraise that limit (docker update --memory, MemoryMax=)",
	       seep_bytes_text(left).text, seep_bytes_text(f->group.limit_bytes).text);
}

static const struct seep_finding *first_problem(const struct seep_findings *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->items[i].level == PROBLEM)
			return &found->items[i];
	return NULL;
}

void seep_attach_judge(const struct seep_attach_facts *facts, struct seep_findings *found)
{
	found->count = 0;
	judge_process(facts, found);
	if (first_problem(found))
		return;
	judge_rights(facts, found);
	if (first_problem(found))
		return;
	judge_recorded(facts, found);
	judge_kind(facts, found);
	judge_allocator(facts, found);
	judge_confinement(facts, found);
	judge_limits(facts, found);
	judge_room(facts, found);
}

static enum seep_code code_of(const struct seep_finding *problem, const struct seep_attach_facts *f)
{
	if (strcmp(problem->code, "process") == 0 &&
	    (!f->state || (f->state == 'Z' && !f->goes_on)))
		return SEEP_ENOTFOUND;
	if (strcmp(problem->code, "recorded") == 0)
		return SEEP_EEXIST;
	if (strcmp(problem->code, "kind") == 0 || strcmp(problem->code, "allocator") == 0)
		return SEEP_EUNSUPPORTED;
	return SEEP_EREFUSED;
}

int seep_attach_check(const struct seep_attach_facts *facts, struct seep_error *err)
{
	SEEP_FREED struct seep_findings *found = seep_xmalloc(sizeof(*found));
	const struct seep_finding *problem;

	seep_attach_judge(facts, found);
	problem = first_problem(found);
	return problem ? seep_fail(err, code_of(problem, facts), "%s; %s", problem->sentence,
				   problem->advice)
		       : 0;
}

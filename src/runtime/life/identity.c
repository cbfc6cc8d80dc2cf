/* SPDX-License-Identifier: MIT */
#include "runtime/life/identity.h"

#include "runtime/sys/sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t parse_start_ticks(const char *stat)
{
	const char *at = "";
	uint64_t value = 0;
	int field = 2;

	for (const char *c = stat; *c; c++)
		at = *c == ')' ? c : at;
	/* After the name: field 3 follows one space; 22 is nineteen further. */
	for (; *at && field < 22; at++)
		field += *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

static void parse_boot_id(const char *text, uint8_t *ret_id)
{
	unsigned nibbles = 0;

	for (; *text && nibbles < 32; text++) {
		unsigned digit;

		if (*text >= '0' && *text <= '9')
			digit = (unsigned)(*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			digit = (unsigned)(*text - 'a' + 10);
		else
			continue;
		ret_id[nibbles / 2] = (uint8_t)(ret_id[nibbles / 2] << 4 | digit);
		nibbles++;
	}
}

void rt_identify(struct rt_identity *id, const struct ledger_header *parent)
{
	char *text = id->text;
	struct stat namespace;
	long got;

	memset(id, 0, offsetof(struct rt_identity, text));
	id->pid = rt_getpid_or_tid();
	id->ppid = (uint32_t)rt_syscall3(SYS_getppid, 0, 0, 0);
	id->uid = (uint32_t)rt_syscall3(SYS_geteuid, 0, 0, 0);
	if (rt_read_file("/proc/self/stat", text, sizeof(id->text)) > 0)
		id->start_ticks = parse_start_ticks(text);
	/* A child that sees its parent under the parent's own number is in the same namespace. */
	if (parent && parent->pid > 1 && id->ppid == parent->pid)
		id->pid_namespace = parent->pid_namespace;
	else if (rt_syscall6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&namespace,
			     0, 0, 0) == 0)
		id->pid_namespace = namespace.st_ino;
	if (parent)
		return;
	if (rt_read_file("/proc/sys/kernel/random/boot_id", text, sizeof(id->text)) > 0)
		parse_boot_id(text, id->boot_id);
	got = rt_syscall6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)id->exe,
			  sizeof(id->exe) - 1, 0, 0);
	id->exe_bytes = got > 0 ? (size_t)got : 0;
	id->exe[id->exe_bytes] = '\0';
}

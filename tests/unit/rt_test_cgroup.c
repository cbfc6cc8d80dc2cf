/* SPDX-License-Identifier: MIT */
/*
 * What memory control groups leave, by files as the kernel writes them under another root, read as
 * the library reads them and as the tool does.
 */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"

#include "base/file.h"
#include "core/cgroup.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 8 };

struct rt_global rt_global;

static char root[32];

static void write_file(const char *name, const char *content)
{
	char full[512];
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s%s", root, name);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/seep-cgroup-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"
#define SELF "/proc/self/cgroup"

static const struct {
	const char *what;
	struct {
		const char *name;
		const char *content;
	} files[FILES_MAX];
	uint64_t limit; /* 0: none */
	uint64_t room;
} cases[] = {
	{ "no /proc", { { 0 } }, 0, 0 },
	{ "no group has a limit",
	  { { SELF, "0::/a\n" },
	    { V2 "/a/memory.max", "max\n" },
	    { V2 "/a/memory.high", "max\n" },
	    { V2 "/a/memory.current", "1000\n" } },
	  0,
	  0 },
	{ "version 2",
	  { { SELF, "0::/system.slice/x.service\n" },
	    { V2 "/system.slice/x.service/memory.max", "134217728\n" },
	    { V2 "/system.slice/x.service/memory.current", "34217728\n" } },
	  134217728,
	  100000000 },
	{ "memory.high is lower",
	  { { SELF, "0::/a\n" },
	    { V2 "/a/memory.max", "5000000\n" },
	    { V2 "/a/memory.high", "3000000\n" },
	    { V2 "/a/memory.current", "1000000\n" } },
	  3000000,
	  2000000 },
	{ "a group further out is fuller",
	  { { SELF, "0::/a/b\n" },
	    { V2 "/a/b/memory.max", "5000000\n" },
	    { V2 "/a/b/memory.current", "0\n" },
	    { V2 "/a/memory.max", "9000000\n" },
	    { V2 "/a/memory.current", "8000000\n" } },
	  9000000,
	  1000000 },
	{ "a group further out has the only limit",
	  { { SELF, "0::/a/b/c\n" },
	    { V2 "/a/b/c/memory.max", "max\n" },
	    { V2 "/a/memory.max", "5000000\n" },
	    { V2 "/a/memory.current", "1000000\n" } },
	  5000000,
	  4000000 },
	{ "what is cached of files is room",
	  { { SELF, "0::/\n" },
	    { V2 "/memory.max", "5000000\n" },
	    { V2 "/memory.current", "5000000\n" },
	    { V2 "/memory.stat",
	      "anon 700\nfile 9\ninactive_anon 1\nactive_anon 2\ninactive_file 3000000\n"
	      "active_file 1000000\nunevictable 0\n" } },
	  5000000,
	  4000000 },
	{ "swap that may still be used is no room",
	  { { SELF, "0::/a\n" },
	    { V2 "/a/memory.max", "5000000\n" },
	    { V2 "/a/memory.current", "4000000\n" },
	    { V2 "/a/memory.swap.max", "9000000\n" },
	    { V2 "/a/memory.swap.current", "0\n" } },
	  5000000,
	  1000000 },
	{ "over the limit",
	  { { SELF, "0::/a\n" },
	    { V2 "/a/memory.max", "5000\n" },
	    { V2 "/a/memory.current", "6000\n" } },
	  5000,
	  0 },
	{ "version 1 among others",
	  { { SELF, "9:name=systemd:/x\n5:cpu,cpuacct:/x\n4:memory:/a:b\n0::/\n" },
	    { V1 "/a:b/memory.limit_in_bytes", "10000000\n" },
	    { V1 "/a:b/memory.usage_in_bytes", "6000000\n" },
	    { V1 "/a:b/memory.stat",
	      "inactive_file 1\ntotal_inactive_file 500000\ntotal_active_file 500000\n" },
	    { V1 "/memory.limit_in_bytes", "9223372036854771712\n" } },
	  10000000,
	  5000000 },
	{ "memory and swap together are limited, and swap is in use",
	  { { SELF, "4:memory:/a\n" },
	    { V1 "/a/memory.limit_in_bytes", "10000000\n" },
	    { V1 "/a/memory.usage_in_bytes", "5000000\n" },
	    { V1 "/a/memory.memsw.limit_in_bytes", "10000000\n" },
	    { V1 "/a/memory.memsw.usage_in_bytes", "8000000\n" } },
	  10000000,
	  2000000 },
	{ "a container that is told the host's path",
	  { { SELF, "4:hugetlb,memory:/docker/0123\n" },
	    { V1 "/memory.limit_in_bytes", "8000000\n" },
	    { V1 "/memory.usage_in_bytes", "1000000\n" } },
	  8000000,
	  7000000 },
	{ "version 2 beside other controllers",
	  { { SELF, "1:cpu:/\n0::/a\n" },
	    { V2 "/unified/a/memory.max", "8000000\n" },
	    { V2 "/unified/a/memory.current", "1000000\n" } },
	  8000000,
	  7000000 },
	{ "a group outside of the namespace is not looked for outside of the mount",
	  { { SELF, "0::/../kernel\n" },
	    { "/sys/fs/kernel/memory.max", "8000000\n" },
	    { V2 "/memory.max", "7000000\n" } },
	  0,
	  0 },
	{ "no controller is called so",
	  { { SELF, "4:memoryx,xmemory:/\n" },
	    { V1 "/memory.limit_in_bytes", "8000000\n" },
	    { V1 "/memory.usage_in_bytes", "1000000\n" } },
	  0,
	  0 },
	{ "nonsense",
	  { { SELF, "no colon\n1:x\n::\n0::/a" }, { V2 "/memory.max", "-5\n" } },
	  0,
	  0 },
	{ "a number too large",
	  { { SELF, "0::/\n" },
	    { V2 "/memory.max", "99999999999999999999999\n" },
	    { V2 "/memory.current", "1\n" } },
	  0,
	  0 },
};

static core_read_file_fn *const readers[] = { rt_read_file, seep_file_read_start };

static void look(core_read_file_fn *reader, struct core_cgroup *ret_group)
{
	static struct core_cgroup_buffers buffers;

	*ret_group = (struct core_cgroup){ 0 };
	(void)core_cgroup_memory(reader, root, "self", &buffers, ret_group);
}

TEST(room_is_that_of_the_tightest_group)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct core_cgroup seen[2];

		assert_int_equal(set_up(state), 0);
		for (size_t f = 0; f < FILES_MAX && cases[i].files[f].name; f++)
			write_file(cases[i].files[f].name, cases[i].files[f].content);
		for (int reader = 0; reader < 2; reader++)
			look(readers[reader], &seen[reader]);
		assert_int_equal(tear_down(state), 0);
		for (int reader = 0; reader < 2; reader++)
			if (seen[reader].limit_bytes != cases[i].limit ||
			    seen[reader].room_bytes != cases[i].room)
				fail_msg("%s: %lu of %lu, not %lu of %lu", cases[i].what,
					 seen[reader].room_bytes, seen[reader].limit_bytes,
					 cases[i].room, cases[i].limit);
	}
}

TEST(endless_paths_are_left_alone)
{
	static char line[6000];

	assert_int_equal(set_up(state), 0);
	memset(line, 'a', sizeof(line) - 2);
	memcpy(line, "0::/", 4);
	line[sizeof(line) - 2] = '\n';
	write_file(SELF, line);
	write_file(V2 "/memory.max", "1000000\n");
	for (int reader = 0; reader < 2; reader++) {
		struct core_cgroup seen;

		look(readers[reader], &seen);
		assert_int_equal(seen.limit_bytes, 0);
	}
	assert_int_equal(tear_down(state), 0);
}

/* SPDX-License-Identifier: MIT */
/* The room in memory control groups, by files as the kernel writes them under another root. */
#include "runtime/sys/sys.c"

#include "runtime/life/rt_cgroup.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MB = 1 << 20, FILES_MAX = 8 };

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

static const struct {
	const char *what;
	struct {
		const char *name;
		const char *content;
	} files[FILES_MAX];
	uint64_t room;
} cases[] = {
	{ "no /proc", { { 0 } }, UINT64_MAX },
	{ "no group has a limit",
	  { { "/proc/self/cgroup", "0::/a\n" },
	    { V2 "/a/memory.max", "max\n" },
	    { V2 "/a/memory.high", "max\n" },
	    { V2 "/a/memory.current", "1000\n" } },
	  UINT64_MAX },
	{ "version 2",
	  { { "/proc/self/cgroup", "0::/a/b\n" },
	    { V2 "/a/b/memory.max", "134217728\n" },
	    { V2 "/a/b/memory.current", "34217728\n" } },
	  100000000 },
	{ "memory.high is lower",
	  { { "/proc/self/cgroup", "0::/a\n" },
	    { V2 "/a/memory.max", "5000000\n" },
	    { V2 "/a/memory.high", "3000000\n" },
	    { V2 "/a/memory.current", "1000000\n" } },
	  2000000 },
	{ "a group further out is fuller",
	  { { "/proc/self/cgroup", "0::/a/b\n" },
	    { V2 "/a/b/memory.max", "5000000\n" },
	    { V2 "/a/b/memory.current", "0\n" },
	    { V2 "/a/memory.max", "9000000\n" },
	    { V2 "/a/memory.current", "8000000\n" } },
	  1000000 },
	{ "what is cached of files is room",
	  { { "/proc/self/cgroup", "0::/\n" },
	    { V2 "/memory.max", "5000000\n" },
	    { V2 "/memory.current", "5000000\n" },
	    { V2 "/memory.stat",
	      "anon 700\nfile 9\ninactive_anon 1\nactive_anon 2\ninactive_file 3000000\n"
	      "active_file 1000000\nunevictable 0\n" } },
	  4000000 },
	{ "over the limit",
	  { { "/proc/self/cgroup", "0::/a\n" },
	    { V2 "/a/memory.max", "5000\n" },
	    { V2 "/a/memory.current", "6000\n" } },
	  0 },
	{ "version 1 among others",
	  { { "/proc/self/cgroup", "9:name=systemd:/x\n5:cpu,cpuacct:/x\n4:memory:/a:b\n0::/\n" },
	    { V1 "/a:b/memory.limit_in_bytes", "10000000\n" },
	    { V1 "/a:b/memory.usage_in_bytes", "6000000\n" },
	    { V1 "/a:b/memory.stat",
	      "inactive_file 1\ntotal_inactive_file 500000\ntotal_active_file 500000\n" },
	    { V1 "/memory.limit_in_bytes", "9223372036854771712\n" } },
	  5000000 },
	{ "a container that is told the host's path",
	  { { "/proc/self/cgroup", "4:hugetlb,memory:/docker/0123\n" },
	    { V1 "/memory.limit_in_bytes", "8000000\n" },
	    { V1 "/memory.usage_in_bytes", "1000000\n" } },
	  7000000 },
	{ "no controller is called so",
	  { { "/proc/self/cgroup", "4:memoryx,xmemory:/\n" },
	    { V1 "/memory.limit_in_bytes", "8000000\n" },
	    { V1 "/memory.usage_in_bytes", "1000000\n" } },
	  UINT64_MAX },
	{ "nonsense",
	  { { "/proc/self/cgroup", "::\n0::/a" }, { V2 "/memory.max", "-5\n" } },
	  UINT64_MAX },
	{ "a number too large",
	  { { "/proc/self/cgroup", "0::/\n" },
	    { V2 "/memory.max", "99999999999999999999999\n" },
	    { V2 "/memory.current", "1\n" } },
	  UINT64_MAX },
};

static void room_is_that_of_the_tightest_group(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t room;

		assert_int_equal(set_up(state), 0);
		for (size_t f = 0; f < FILES_MAX && cases[i].files[f].name; f++)
			write_file(cases[i].files[f].name, cases[i].files[f].content);
		room = rt_cgroup_room(root);
		assert_int_equal(tear_down(state), 0);
		if (room != cases[i].room)
			fail_msg("%s: %lu, not %lu", cases[i].what, room, cases[i].room);
	}
}

static void endless_paths_are_left_alone(void **state)
{
	static char line[6000];

	assert_int_equal(set_up(state), 0);
	memset(line, 'a', sizeof(line) - 2);
	memcpy(line, "0::/", 4);
	line[sizeof(line) - 2] = '\n';
	write_file("/proc/self/cgroup", line);
	write_file(V2 "/memory.max", "1000000\n");
	assert_int_equal(rt_cgroup_room(root), UINT64_MAX);
	assert_int_equal(tear_down(state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_is_that_of_the_tightest_group),
		cmocka_unit_test(endless_paths_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

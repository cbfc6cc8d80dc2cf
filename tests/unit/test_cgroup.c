/* SPDX-License-Identifier: MIT */
/* The limit of a memory control group, in both versions, in folders that look like theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "target/cgroup.h"

static char root[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/seep-cgroup-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void put(const char *file, const char *text)
{
	char path[256], command[512];

	(void)snprintf(path, sizeof(path), "%s/%s", root, file);
	(void)snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s)\"", path);
	assert_int_equal(system(command), 0);
	assert_int_equal(seep_file_replace(path, 0600, text, strlen(text), NULL), 0);
}

static void expect(uint64_t limit_bytes, uint64_t used_bytes)
{
	struct seep_cgroup_memory memory;

	assert_true(seep_cgroup_memory(root, 7, &memory));
	assert_int_equal(memory.limit_bytes, limit_bytes);
	assert_int_equal(memory.used_bytes, used_bytes);
}

static void the_unified_hierarchy_is_read(void **state)
{
	(void)state;
	put("proc/7/cgroup", "0::/system.slice/x.service\n");
	put("sys/fs/cgroup/system.slice/x.service/memory.max", "1000\n");
	put("sys/fs/cgroup/system.slice/x.service/memory.current", "400\n");
	expect(1000, 400);
}

static void the_classic_hierarchy_is_read(void **state)
{
	(void)state;
	put("proc/7/cgroup", "5:cpu:/\n4:memory:/a\n0::/\n");
	put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n");
	put("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "70\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	expect(5000, 70);
}

static void the_group_with_the_least_room_counts(void **state)
{
	(void)state;
	put("proc/7/cgroup", "0::/outer/inner\n");
	put("sys/fs/cgroup/outer/inner/memory.max", "1000\n");
	put("sys/fs/cgroup/outer/inner/memory.current", "100\n");
	put("sys/fs/cgroup/outer/memory.max", "2000\n");
	put("sys/fs/cgroup/outer/memory.current", "1900\n");
	expect(2000, 1900);
}

/* In a container the path is the host's, and the files are at the top. */
static void the_root_of_a_container_is_enough(void **state)
{
	(void)state;
	put("proc/7/cgroup", "0::/\n");
	put("sys/fs/cgroup/memory.max", "3000\n");
	put("sys/fs/cgroup/memory.current", "1\n");
	expect(3000, 1);
}

static void no_limit_is_no_limit(void **state)
{
	struct seep_cgroup_memory memory;

	(void)state;
	assert_false(seep_cgroup_memory(root, 7, &memory));
	put("proc/7/cgroup", "no colon\n1:x\n0::/../../etc\n0::/a\n");
	assert_false(seep_cgroup_memory(root, 7, &memory));
	put("sys/fs/cgroup/a/memory.max", "max\n");
	assert_false(seep_cgroup_memory(root, 7, &memory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_unified_hierarchy_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_classic_hierarchy_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_group_with_the_least_room_counts, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_root_of_a_container_is_enough, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_limit_is_no_limit, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

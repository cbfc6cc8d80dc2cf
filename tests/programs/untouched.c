/* SPDX-License-Identifier: MIT */
/*
 * untouched COUNT BYTES SMALL: COUNT blocks of BYTES that nobody writes to, each after a block of
 * SMALL bytes unless that is 0. Notes how much memory the process has then.
 */
#include "truth.h"

TRUTH_SITE(allocate);

static SITE void allocate(size_t bytes)
{
	if (bytes && truth_hide_ptr(malloc(bytes)))
		truth_alloced(&site_allocate, bytes);
}

static unsigned long resident_kb(void)
{
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const char *line;

	EXPECT(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
	line = strstr(text, "VmRSS:");
	return line ? strtoul(line + 6, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < count; i++) {
		allocate(strtoul(argv[3], NULL, 10));
		allocate(strtoul(argv[2], NULL, 10));
	}
	truth_line("note resident_kb=%lu\n", resident_kb());
	truth_print();
	return truth_failures != 0;
}

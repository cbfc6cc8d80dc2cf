/* SPDX-License-Identifier: MIT */
/* Ends the program before it begins: by _exit or, with HOSTILE=exec, by another program. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static __attribute__((constructor)) void early(void)
{
	static char *const echo[] = { "/bin/echo", "executed", NULL };
	const char *what = getenv("HOSTILE");

	if (what && strcmp(what, "exec") == 0)
		(void)execve(echo[0], echo, environ);
	if (what)
		_exit(7);
}

void hostile_constructor(void)
{
}

/* SPDX-License-Identifier: MIT */
/* "seep open": the page of a recording, in a browser. */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/output_file.h"
#include "cli/symbol_options.h"
#include "report/report.h"

/* What has not failed by then is a browser that the user looks at. */
enum { FAILS_WITHIN_MS = 3000 };

static struct {
	const char *output;
	struct seep_symbol_option_values symbols;
} asked;

static const struct seep_option options[] = {
	SEEP_OPTION("output", 'o', TEXT, "HTML", asked.output,
		    "Write the page to the file HTML (default: in ~/.cache/seep)"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_open_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details = "FILE is a recording or a ledger. The page is one file that you can send to\n"
		   "others. The browser is $BROWSER, else what xdg-open starts. Where there is no\n"
		   "display the page is written all the same, and its name printed: copy it to a\n"
		   "machine that has one.\n",
};

/* Begin what is asked for, else a file in a folder of the user's own, which is made. */
static int begin_page(const char *file, int *folder_fd, struct seep_atomic_file *ret_page,
		      struct seep_error *err)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	SEEP_FREED char *parent = NULL, *folder = NULL, *path = NULL;
	int rc;

	if (asked.output)
		return seep_output_begin(asked.output, "a page", ret_page, err);
	if (cache && *cache == '/')
		parent = seep_xstrdup(cache);
	else if (home && *home == '/')
		parent = seep_xasprintf("%s/.cache", home);
	else
		return seep_fail(err, SEEP_ENOTFOUND, "HOME is not set: name a file with -o");
	folder = seep_xasprintf("%s/seep", parent);
	path = seep_xasprintf("%s/%s.html", folder, seep_path_base(file));
	(void)mkdir(parent, 0700);
	rc = seep_folder_open_own(AT_FDCWD, folder, folder_fd, err);
	return rc < 0 ? rc : seep_atomic_open(*folder_fd, path, 0600, ret_page, err);
}

/* @ret_output: the page's path, once it is begun. */
static int write_page(const char *file, char **ret_output, struct seep_error *err)
{
	struct seep_view_options view = { .path = file, .by = SEEP_BY_CHOICE };
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = NULL;
	struct seep_atomic_file page;
	SEEP_CLOSED int folder_fd = -1;
	int rc = seep_symbol_options_open(&asked.symbols, file, &profile, err);

	if (rc == 0)
		rc = begin_page(file, &folder_fd, &page, err);
	if (rc < 0)
		return rc;
	*ret_output = seep_xstrdup(page.name);
	sites = seep_sites_new(profile);
	seep_page_report(page.stream, profile, sites, &view);
	return seep_atomic_commit(&page, err);
}

/* What is to start, NULL where nobody would see it. */
static const char *find_browser(void)
{
	const char *browser = getenv("BROWSER");
	const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	if (browser && *browser)
		return browser;
	return (display && *display) || (wayland && *wayland) ? "xdg-open" : NULL;
}

/* Wait for @pid to fail, but not for a browser to be closed. Returns its wait status, or 0. */
static int wait_a_little(pid_t pid)
{
	SEEP_CLOSED const int fd = pidfd_open(pid, 0);
	struct pollfd ends = { .fd = fd, .events = POLLIN };
	int status = 0;

	if (fd >= 0 && poll(&ends, 1, FAILS_WITHIN_MS) > 0)
		(void)waitpid(pid, &status, 0);
	return status;
}

/* @browser may have arguments. */
static int start_browser(const char *browser, const char *page, struct seep_error *err)
{
	SEEP_FREED char *command = seep_xasprintf("exec %s \"$1\"", browser);
	char *const argv[] = { (char[]){ "sh" }, (char[]){ "-fc" },	  command,
			       (char[]){ "sh" }, (char *)(uintptr_t)page, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;

	/* It outlives us: it may not keep open what whoever called us reads. */
	(void)posix_spawn_file_actions_init(&actions);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	status = posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (status != 0)
		return seep_fail_errno(err, status, "cannot start /bin/sh");
	status = wait_a_little(pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return WIFEXITED(status) ? seep_fail(err, SEEP_ESYS, "%s ended with status %d", browser,
					     WEXITSTATUS(status))
				 : seep_fail(err, SEEP_ESYS, "%s was killed by signal %d", browser,
					     WTERMSIG(status));
}

int cmd_open(char **operands, struct seep_error *err)
{
	const char *browser = find_browser();
	SEEP_FREED char *output = NULL;
	int rc = write_page(operands[0], &output, err);

	if (rc == 0) {
		seep_print_escaped(stdout, "%s", output);
		(void)fflush(stdout);
		if (browser)
			rc = start_browser(browser, output, err);
		else
			seep_hint("there is no display: open this file in a browser");
	}
	return rc;
}
